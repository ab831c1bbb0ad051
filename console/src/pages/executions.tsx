// Executions: a live list of any length, with its filters in the URL.

import { type ReactNode, useState } from 'react';
import { locatedMessage } from '../../../src/execution/failure.ts';
import type { ExecutionMessage } from '../../../src/protocol/messages/execution.ts';
import { type ApiRequest, requestTo } from '../../../src/protocol/messages/request.ts';
import { withTyped } from '../api/call.ts';
import { type Page, useMay, usePages } from '../api/reads.ts';
import { OPEN } from '../model/statuses.ts';
import { durationText } from '../model/words.ts';
import { BulkButton } from '../parts/bulk.tsx';
import { ExecutionLink, Status, Tags, Time } from '../parts/marks.tsx';
import { Empty, PageHead } from '../parts/notes.tsx';
import { useNow } from '../parts/now.ts';
import { PageList, readText } from '../parts/page-list.tsx';
import type { Column } from '../parts/table.tsx';
import { Link, type PageLocation, useLocation } from '../router.tsx';
import { Filters } from './execution-filters.tsx';
import { StartButton } from './start-dialog.tsx';

const COLUMNS: readonly Column<ExecutionMessage>[] = [
  {
    title: 'Key or ID',
    width: 'minmax(10.5rem, 1.2fr)',
    cell: ({ id, key, pipeline }) => (
      <>
        <ExecutionLink id={id} text={key} /> <span className="about narrow-only">{pipeline}</span>
      </>
    ),
  },
  {
    title: 'Pipeline',
    isWide: true,
    width: 'minmax(8rem, 1.2fr)',
    cell: ({ pipeline }) => <span title={pipeline}>{pipeline}</span>,
  },
  {
    title: 'Status',
    width: 'minmax(9rem, 2.2fr)',
    cell: ({ status, holds, compensating, failure }) => (
      <>
        <Status
          status={status}
          holds={compensating && OPEN.has(status) ? [...holds, 'compensating'] : holds}
        />
        {failure === undefined ? null : (
          <span className="failed-at" title={locatedMessage(failure)}>
            {failure.message}
          </span>
        )}
      </>
    ),
  },
  {
    title: 'Submitted',
    isWide: true,
    width: '7.5rem',
    cell: ({ submittedAt }) => <Time at={submittedAt} />,
  },
  {
    title: 'Duration',
    isWide: true,
    width: '5.5rem',
    isNumber: true,
    cell: (each) => <Duration {...each} />,
  },
  {
    title: 'Tags',
    isWide: true,
    width: 'minmax(6rem, 1fr)',
    cell: ({ tags }) => <Tags tags={tags} />,
  },
];

/** The age of an open execution. */
function Duration({ submittedAt, endedAt }: ExecutionMessage): ReactNode {
  const now = useNow();
  const untilMs =
    endedAt === undefined ? Math.max(now, Date.parse(submittedAt)) : Date.parse(endedAt);
  const text = durationText(untilMs - Date.parse(submittedAt));
  return endedAt === undefined ? <span className="about">{text}</span> : text;
}

const NAMES = [
  ...(['status', 'pipeline', 'tag', 'hold', 'attribute', 'equals'] as const),
  ...(['q', 'key', 'code', 'topLevel'] as const),
] as const;

/** Filters that a job cannot apply. */
const LIST_ONLY = ['hold', 'attribute', 'equals', 'q', 'key', 'code', 'topLevel'];

export function listRequest({ query }: PageLocation): ApiRequest<Page<ExecutionMessage>> {
  const typed = Object.fromEntries(NAMES.map((name) => [name, query.getAll(name)]));
  return withTyped(requestTo('GET /v1/executions', { limit: 200 }), typed);
}

export function ExecutionsPage(): ReactNode {
  const location = useLocation();
  const pages = usePages(listRequest(location), { everyMs: 3_000 });
  const isFiltered = NAMES.some((name) => location.query.has(name));
  return (
    <>
      <PageHead title="Executions" about={`${readText(pages, 'execution')} · newest first`}>
        <BulkOfList location={location} />
        <StartButton label="Start execution…" />
      </PageHead>
      <Filters location={location} />
      <PageList
        label="Executions"
        columns={COLUMNS}
        pages={pages}
        empty={isFiltered ? <NothingFits /> : <NothingYet />}
      />
    </>
  );
}

/** Offered only if a job can apply the same filters, so that it never affects more than the list shows. */
function BulkOfList({ location }: { readonly location: PageLocation }): ReactNode {
  const { operate } = useMay();
  const statuses = location.query.getAll('status');
  const [pipeline, tag] = [location.query.get('pipeline'), location.query.get('tag')];
  const isPlain = LIST_ONLY.every((name) => !location.query.has(name));
  if (!operate || !isPlain) return null;
  const filter = { ...(pipeline && { pipeline }), ...(tag && { tag }) };
  // Dead letters include both statuses, and have no tags.
  if (statuses.length === 2 && statuses.every((each) => WRONG.has(each)) && tag === null) {
    return <BulkButton action="redrive" filter={{ ...filter, open: true }} label="Re-drive all…" />;
  }
  if (statuses.some((each) => WRONG.has(each))) {
    return <Link to="/dead-letters">Re-drive by cause…</Link>;
  }
  const [status, ...others] = statuses;
  if (others.length > 0) return null;
  if (status === undefined ? Object.keys(filter).length === 0 : !OPEN.has(status)) return null;
  const fits = { ...filter, ...(status === undefined ? {} : { status }) };
  return <BulkButton action="cancel" filter={fits} label="Cancel matching…" />;
}

const WRONG: ReadonlySet<string> = new Set(['failed', 'quarantined']);

function NothingFits(): ReactNode {
  return (
    <Empty title="No matching executions">
      <p>Remove a filter or try another search.</p>
    </Empty>
  );
}

function NothingYet(): ReactNode {
  const [url] = useState(() => window.location.origin);
  return (
    <Empty title="No executions yet">
      <p>Submit one from a terminal:</p>
      <pre>
        holdfast submit restaurant-order '{'{"dish":"soup","guest":"ann"}'}' --url {url}
      </pre>
      <p>The execution will appear here automatically.</p>
    </Empty>
  );
}
