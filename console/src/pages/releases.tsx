// All pipelines with releases, and the releases of their new executions.

import type { ReactNode } from 'react';
import type { PipelineRolloutMessage } from '../../../src/features/releases/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { itemsOf, useCommand, usePages } from '../api/reads.ts';
import { countedText } from '../model/words.ts';
import { Status } from '../parts/marks.tsx';
import { Empty, More, PageHead, Shown } from '../parts/notes.tsx';
import { Link } from '../router.tsx';

export function ReleasesPage(): ReactNode {
  const pages = usePages(requestTo('GET /v1/pipelines', { limit: 100 }), { everyMs: 5_000 });
  const items = itemsOf(pages);
  return (
    <>
      <PageHead
        title="Releases"
        about={
          pages.data === undefined
            ? ' '
            : `${countedText({ count: items.length, hasMore: pages.hasNextPage }, 'pipeline')} with releases`
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
  const command = useCommand();
  return (
    <Empty title="No releases yet">
      <p>
        Without releases any worker can run any execution. With releases, an execution finishes on
        the build it started on:
      </p>
      <pre>
        {`${command} contract build src/pipelines.ts
${command} releases register order v1 --artifact shop/orders --digest sha256:…`}
      </pre>
      <p>The release appears here, ready to inspect, activate and roll back.</p>
    </Empty>
  );
}

function RolloutCard({ rollout }: { readonly rollout: PipelineRolloutMessage }): ReactNode {
  const { pipeline, active, canary } = rollout;
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
      {canary === undefined ? null : (
        <span className="rollout-name">
          <span className="mono">{canary}</span> <Status status="canary" />
        </span>
      )}
      <RolloutBar rollout={rollout} />
      <span className="about">{rolloutSentence(rollout)}</span>
    </li>
  );
}

type Rollout = Omit<PipelineRolloutMessage, 'pipeline'>;

export function RolloutBar({ rollout }: { readonly rollout: Rollout }): ReactNode {
  const { active, canary, percent = 0 } = rollout;
  if (active === undefined || canary === undefined) return null;
  const label = `${100 - percent}% of new executions go to ${active}, ${percent}% to ${canary}`;
  return (
    <span className="rollout-bar" role="img" aria-label={label}>
      <span className="rollout-active" style={{ width: `${100 - percent}%` }} />
      <span className="rollout-canary" style={{ width: `${percent}%` }} />
    </span>
  );
}

export function rolloutSentence({ active, canary, percent = 0, version }: Rollout): string {
  if (version === 0 || active === undefined) return 'New executions are not pinned.';
  if (canary === undefined) return `New executions go to ${active}.`;
  return `${percent}% of new executions go to ${canary} (by key), ${100 - percent}% to ${active}.`;
}
