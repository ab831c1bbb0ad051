// Every pipeline that has releases, and where its new executions go.

import type { ReactNode } from 'react';
import type { PipelineRolloutMessage } from '../../../src/features/releases/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { itemsOf, usePages } from '../api/reads.ts';
import { plural } from '../model/words.ts';
import { Status } from '../parts/marks.tsx';
import { Empty, More, PageHead, Shown } from '../parts/notes.tsx';
import { Link } from '../router.tsx';

export function ReleasesPage(): ReactNode {
  const pages = usePages(requestTo('GET /v1/pipelines', { limit: 100 }), { everyMs: 5_000 });
  const items = itemsOf(pages);
  const more = pages.hasNextPage ? ' and more' : '';
  return (
    <>
      <PageHead
        title="Releases"
        about={
          pages.data === undefined
            ? ' '
            : `${plural(items.length, 'pipeline')}${more} with builds of their own`
        }
      />
      <Shown
        of={pages}
        isEmpty={pages.data !== undefined && items.length === 0}
        empty={<NoReleases />}
      >
        <ul className="causes">
          {items.map((each) => (
            <RolloutCard key={each.pipeline} rollout={each} />
          ))}
        </ul>
        <More pages={pages} />
      </Shown>
    </>
  );
}

function NoReleases(): ReactNode {
  return (
    <Empty title="Nothing was released yet">
      <p>
        Without releases every worker takes every execution of its pipelines. With them, what is
        open ends on the build that it began with:
      </p>
      <pre>
        {`holdfast contract build src/pipelines.ts
holdfast releases register order v1 --artifact shop/orders --digest sha256:…`}
      </pre>
      <p>It appears here, to be looked through, activated and rolled back.</p>
    </Empty>
  );
}

function RolloutCard({ rollout }: { readonly rollout: PipelineRolloutMessage }): ReactNode {
  const { pipeline, active, candidate } = rollout;
  return (
    <li className="card cause">
      <Link to={`/releases/${encodeURIComponent(pipeline)}`}>
        <strong>{pipeline}</strong>
      </Link>
      {active === undefined ? null : (
        <span className="rollout-name">
          <span className="mono">{active}</span> <Status status="active" />
        </span>
      )}
      {candidate === undefined ? null : (
        <span className="rollout-name">
          <span className="mono">{candidate}</span> <Status status="candidate" />
        </span>
      )}
      <Share rollout={rollout} />
      <span className="about">{rolloutSentence(rollout)}</span>
    </li>
  );
}

type Rollout = Omit<PipelineRolloutMessage, 'pipeline'>;

/** How new executions are divided. */
export function Share({ rollout }: { readonly rollout: Rollout }): ReactNode {
  const { active, candidate, percent = 0 } = rollout;
  if (active === undefined) return null;
  const said =
    candidate === undefined
      ? `all new executions go to ${active}`
      : `${100 - percent} per cent of new executions go to ${active}, ${percent} to ${candidate}`;
  return (
    <span className="share" role="img" aria-label={said}>
      <span className="share-active" style={{ width: `${100 - percent}%` }} />
      <span className="share-candidate" style={{ width: `${percent}%` }} />
    </span>
  );
}

export function rolloutSentence({ active, candidate, percent, version }: Rollout): string {
  if (version === 0 || active === undefined) return 'New executions are pinned to nothing.';
  if (candidate === undefined) return `New executions go to ${active}.`;
  return `Of new executions ${percent} % go to ${candidate}, by their keys; the rest to ${active}.`;
}
