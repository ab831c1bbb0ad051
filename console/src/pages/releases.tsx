// Pipelines with releases, and the release that new executions go to.

import type { ReactNode } from 'react';
import type { LineOfMessage } from '../../../src/features/releases/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { itemsOf, usePages } from '../api/reads.ts';
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
            <LineCard key={each.pipeline} line={each} />
          ))}
        </ul>
        <More pages={pages} />
      </Shown>
    </>
  );
}

function NoReleases(): ReactNode {
  return (
    <Empty title="No releases yet">
      <p>
        Without releases any worker can run any execution. With releases, an execution finishes on
        the build it started on:
      </p>
      <pre>
        {`holdfast contract build src/pipelines.ts
holdfast releases register order v1 --artifact shop/orders --digest sha256:…`}
      </pre>
      <p>The release appears here, ready to inspect, activate and roll back.</p>
    </Empty>
  );
}

function LineCard({ line }: { readonly line: LineOfMessage }): ReactNode {
  const { pipeline, active, candidate } = line;
  return (
    <li className="card cause">
      <Link to={`/releases/${encodeURIComponent(pipeline)}`}>
        <strong>{pipeline}</strong>
      </Link>
      {active === undefined ? null : (
        <span className="line-name">
          <span className="mono">{active}</span> <Status status="active" />
        </span>
      )}
      {candidate === undefined ? null : (
        <span className="line-name">
          <span className="mono">{candidate}</span> <Status status="candidate" />
        </span>
      )}
      <Share line={line} />
      <span className="about">{lineSentence(line)}</span>
    </li>
  );
}

type Line = Omit<LineOfMessage, 'pipeline'>;

/** A bar that shows how new executions are split. */
export function Share({ line }: { readonly line: Line }): ReactNode {
  const { active, candidate, percent = 0 } = line;
  if (active === undefined) return null;
  const said =
    candidate === undefined
      ? `All new executions go to ${active}`
      : `${100 - percent} % of new executions go to ${active}, ${percent} % to ${candidate}`;
  return (
    <span className="share" role="img" aria-label={said}>
      <span className="share-active" style={{ width: `${100 - percent}%` }} />
      <span className="share-candidate" style={{ width: `${percent}%` }} />
    </span>
  );
}

export function lineSentence({ active, candidate, percent, version }: Line): string {
  if (version === 0 || active === undefined) return 'New executions are not pinned.';
  if (candidate === undefined) return `New executions go to ${active}.`;
  return `${percent} % of new executions go to ${candidate} (by key), ${100 - (percent ?? 0)} % to ${active}.`;
}
