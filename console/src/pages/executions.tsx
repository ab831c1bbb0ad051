// Executions: a live list of any length, with its filters in the URL.

import { type ReactNode, useMemo, useState } from 'react';
import { locatedMessage } from '../../../src/execution/failure.ts';
import type { ExecutionMessage } from '../../../src/protocol/messages/execution.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { withTyped } from '../api/call.ts';
import { useOverview } from '../api/overview.ts';
import { useCommand, useMay, usePages, useRead } from '../api/reads.ts';
import { cappedText } from '../model/attention.ts';
import { OPEN } from '../model/statuses.ts';
import { durationText } from '../model/words.ts';
import { BulkButton } from '../parts/bulk.tsx';
import { ExecutionLink, Status, Tags, Time } from '../parts/marks.tsx';
import { Empty, PageHead } from '../parts/notes.tsx';
import { useNow } from '../parts/now.ts';
import { type Order, PageList } from '../parts/page-list.tsx';
import { RANGES } from '../parts/range-choice.tsx';
import type { Column } from '../parts/table.tsx';
import { type PageLocation, useLocation } from '../router.tsx';
import { defaultSort, Filters, sortText } from './execution-filters.tsx';
import { StartButton } from './start-dialog.tsx';

const COLUMNS: readonly Column<ExecutionMessage>[] = [
  {
    title: 'Key or ID',
    width: 'minmax(10.5rem, 1.2fr)',
    cell: ({ id, key, lineageKey, pipeline }) => (
      <>
        <ExecutionLink id={id} text={key ?? lineageKey} />{' '}
        {lineageKey === undefined ? null : <span className="about">re-drive</span>}{' '}
        <span className="about narrow-only">{pipeline}</span>
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
    cell: ({ status, holds, compensating, failure, pipeline, release }) => (
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
        {status === 'queued' && holds.length === 0 ? (
          <Unserved pipeline={pipeline} release={release} />
        ) : null}
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

interface Served {
  readonly pipeline: string;
  readonly release: string | undefined;
}

/** The reason why a ready execution waits, if no worker has its pipeline or its release. */
function Unserved({ pipeline, release }: Served): ReactNode {
  const { data } = useOverview();
  const figures = data?.pipelines.find(
    (each) => each.pipeline === pipeline && each.release === release,
  );
  return figures?.workers === 0 ? <span className="failed-at">No worker serves it</span> : null;
}

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
  ...([
    'code',
    'parent',
    'topLevel',
    'staleOwner',
    'redriven',
    'submittedFrom',
    'submittedTo',
    'endedFrom',
    'endedTo',
  ] as const),
] as const;

function filterIn(
  { query }: PageLocation,
  from: string | undefined,
): Readonly<Record<string, readonly string[]>> {
  const given = FILTERS.filter((name) => query.has(name));
  return {
    ...(from === undefined ? {} : { submittedFrom: [from] }),
    ...Object.fromEntries(given.map((name) => [name, query.getAll(name)])),
  };
}

/**
 * The begin of a range such as `range=1h`, fixed when it is chosen: a list whose filter moves would lose
 * its place. The page shows the time.
 */
function useRangeStart({ query }: PageLocation): string | undefined {
  const range = query.get('range');
  return useMemo(() => {
    const ms = RANGES.find(([name]) => name === range)?.[2];
    return ms === undefined ? undefined : new Date(Date.now() - ms).toISOString();
  }, [range]);
}

/** The store sorts by ID, whose time is that of the submitter; the shown time is that of the store. */
function orderOf(sort: string | null): Order<ExecutionMessage> | undefined {
  if (sort === 'ended') return undefined;
  const sign = sort === 'oldest' ? 1 : -1;
  return (one, other) => sign * one.submittedAt.localeCompare(other.submittedAt);
}

export function ExecutionsPage(): ReactNode {
  const location = useLocation();
  const from = useRangeStart(location);
  const filter = filterIn(location, from);
  const sort = location.query.get('sort') ?? defaultSort(location.query);
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
      <Filters location={location} from={from} />
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

/** Offered with the filters and the count of the list, so that a job never affects more than it shows. */
function BulkOfList({ filter }: { readonly filter: ReturnType<typeof filterIn> }): ReactNode {
  const { operate } = useMay();
  const action = actionFor(filter);
  const body = bodyOf(filter, action === 'redrive' ? { redriven: false } : openOf(filter));
  const counts = {
    ...filter,
    status: [body.status ?? []].flat(),
    redriven: String(body.redriven ?? ''),
  };
  const { data: count } = useRead(withTyped(requestTo('GET /v1/executions/count', {}), counts), {
    isEnabled: operate && action !== undefined,
  });
  if (!operate || action === undefined || count === undefined || count.count === 0) return null;
  const isUndo = action === 'redrive' && filter['status']?.includes('failed') === false;
  const verb = action === 'cancel' ? 'Cancel' : isUndo ? 'Retry' : 'Re-drive';
  const what = isUndo ? 'compensation' : 'execution';
  const bulk = { action, filter: body, ...(isUndo ? { mode: 'compensate' as const } : {}) };
  return <BulkButton {...bulk} label={`${verb} ${cappedText(count, what)}…`} />;
}

type ListFilter = ReturnType<typeof filterIn>;

/** Cancels open executions of a filter. Re-drives failed ones without a re-drive. */
function actionFor(filter: ListFilter): 'cancel' | 'redrive' | undefined {
  const { status = [] } = filter;
  if (Object.keys(filter).length === 0) return undefined;
  if (status.length > 0 && status.every((each) => WRONG.has(each))) {
    return filter['redriven']?.[0] === 'true' ? undefined : 'redrive';
  }
  return status.every((each) => OPEN.has(each)) && !('redriven' in filter) ? 'cancel' : undefined;
}

function openOf({ status = [] }: ListFilter): { readonly status: readonly string[] } {
  return { status: status.length > 0 ? status : [...OPEN] };
}

const LISTS: ReadonlySet<string> = new Set(['status', 'where']);
const BOOLEANS: ReadonlySet<string> = new Set(['topLevel', 'staleOwner', 'redriven']);

/** The filters as a job takes them: one value each, except for lists. */
function bodyOf<More extends object>(filter: ReturnType<typeof filterIn>, more: More) {
  const body = Object.entries(filter).map(([name, values]) => {
    const [value = ''] = values;
    if (BOOLEANS.has(name)) return [name, value === 'true'] as const;
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
  const command = useCommand();
  return (
    <Empty title="No executions yet">
      <p>Submit one from a terminal:</p>
      <pre>
        {command} submit restaurant-order '{'{"dish":"soup","guest":"ann"}'}' --url {url}
      </pre>
      <p>The execution will appear here automatically.</p>
    </Empty>
  );
}
