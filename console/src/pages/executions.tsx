// Executions: a live list of any length, with its filters in the URL.

import { type ReactNode, useMemo, useState } from 'react';
import { locatedMessage } from '../../../src/execution/failure.ts';
import type { ExecutionMessage } from '../../../src/protocol/messages/execution.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { withTyped } from '../api/call.ts';
import { useMay, usePages, useRead } from '../api/reads.ts';
import { cappedText } from '../model/attention.ts';
import { OPEN } from '../model/statuses.ts';
import { durationText } from '../model/words.ts';
import { BulkButton } from '../parts/bulk.tsx';
import { ExecutionLink, Status, Tags, Time } from '../parts/marks.tsx';
import { Empty, PageHead } from '../parts/notes.tsx';
import { useNow } from '../parts/now.ts';
import { type Order, PageList } from '../parts/page-list.tsx';
import type { Column } from '../parts/table.tsx';
import { Link, type PageLocation, useLocation } from '../router.tsx';
import { Filters, sortText } from './execution-filters.tsx';
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

/** Filters in the URL, by their names in the API. */
const FILTERS = [
  ...(['status', 'pipeline', 'release', 'worker', 'tag', 'hold', 'where', 'q', 'key'] as const),
  ...(['code', 'topLevel', 'submittedFrom', 'submittedTo'] as const),
] as const;

function filterIn({ query }: PageLocation): Readonly<Record<string, readonly string[]>> {
  const given = FILTERS.filter((name) => query.has(name));
  return Object.fromEntries(given.map((name) => [name, query.getAll(name)]));
}

/** The store sorts by ID, whose time is that of the submitter; the shown time is that of the store. */
function orderOf(sort: string | null): Order<ExecutionMessage> | undefined {
  if (sort === 'ended') return undefined;
  const sign = sort === 'oldest' ? 1 : -1;
  return (one, other) => sign * one.submittedAt.localeCompare(other.submittedAt);
}

export function ExecutionsPage(): ReactNode {
  const location = useLocation();
  const filter = filterIn(location);
  const sort = location.query.get('sort');
  const order = useMemo(() => orderOf(sort), [sort]);
  const list = requestTo('GET /v1/executions', { limit: 200 });
  const pages = usePages(withTyped(list, { ...filter, sort: sort ?? '' }), { everyMs: 3_000 });
  const count = useRead(withTyped(requestTo('GET /v1/executions/count', {}), filter), {
    everyMs: 3_000,
  });
  const isFiltered = Object.keys(filter).length > 0;
  const text = count.data === undefined ? ' ' : cappedText(count.data, 'execution');
  return (
    <>
      <PageHead title="Executions" about={`${text} · ${sortText(sort)}`}>
        <BulkOfList filter={filter} />
        <StartButton label="Start execution…" />
      </PageHead>
      <Filters location={location} />
      <PageList
        label="Executions"
        columns={COLUMNS}
        pages={pages}
        order={order}
        empty={isFiltered ? <NothingFits /> : <NothingYet />}
      />
    </>
  );
}

/** Dead letters have these filters only. */
const OF_LETTERS: ReadonlySet<string> = new Set(['status', 'pipeline', 'code']);

/** Offered only if a job can apply the same filters, so that it never affects more than the list shows. */
function BulkOfList({ filter }: { readonly filter: ReturnType<typeof filterIn> }): ReactNode {
  const { operate } = useMay();
  const { status: statuses = [] } = filter;
  const isOpen = statuses.every((each) => OPEN.has(each));
  const cancels = bodyOf(filter, { status: isOpen && statuses.length > 0 ? statuses : [...OPEN] });
  const isCounted = operate && isOpen && Object.keys(filter).length > 0;
  const { data: count } = useRead(
    withTyped(requestTo('GET /v1/executions/count', {}), { ...filter, status: cancels.status }),
    { isEnabled: isCounted },
  );
  if (!operate) return null;
  if (isCounted) {
    if (count === undefined || count.count === 0) return null;
    const label = `Cancel ${cappedText(count, 'execution')}…`;
    return <BulkButton action="cancel" filter={cancels} label={label} />;
  }
  const isOfLetters = Object.keys(filter).every((name) => OF_LETTERS.has(name));
  const isAllDead = statuses.length === 2 && statuses.every((each) => WRONG.has(each));
  if (isAllDead && isOfLetters) {
    const { status: _, ...rest } = bodyOf(filter, {});
    return <BulkButton action="redrive" filter={{ ...rest, open: true }} label="Re-drive all…" />;
  }
  return statuses.some((each) => WRONG.has(each)) ? (
    <Link to="/dead-letters">Re-drive by cause…</Link>
  ) : null;
}

const LISTS: ReadonlySet<string> = new Set(['status', 'where']);

/** The filters as a job takes them: one value each, except for lists. */
function bodyOf<More extends object>(filter: ReturnType<typeof filterIn>, more: More) {
  const body = Object.entries(filter).map(([name, values]) => {
    const [value = ''] = values;
    if (name === 'topLevel') return [name, value === 'true'] as const;
    return [name, LISTS.has(name) ? values : value] as const;
  });
  return { ...Object.fromEntries(body), ...more };
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
