// Reads and writes executions for verbs off the hot path: whole rows, histories, inboxes and
// children.

import { decideSubmit } from '../../execution/decide/submit.ts';
import type { ExecutionRecord, TerminalStatus } from '../../execution/execution.ts';
import type { HistoryEvent } from '../../execution/history.ts';
import {
  type ExecutionId,
  type ExecutionRef,
  keyOfRef,
  type PipelineName,
  type ProjectName,
} from '../../execution/names.ts';
import { parseRoute } from '../../execution/route.ts';
import { toFence } from '../../lease/fence.ts';
import type { Instant } from '../../support/clock.ts';
import type {
  ChildSummary,
  FullHistory,
  ListChildren,
  NamedByKey,
  Outcome,
  ReadHistories,
} from '../contract/execution-reads.ts';
import type { Claimed, ExecutionStore, Submit, SubmitResult } from '../contract/execution-store.ts';
import {
  type ExecutionRow,
  type HistoryRow,
  previousIn,
  TERMINAL_FROM,
  toExecution,
  toHistoryEvent,
  toInboxMessage,
  toStatus,
} from '../execution-rows.ts';
import { refuseRelease } from './releases.ts';
import {
  all,
  type Dialects,
  dialects,
  every,
  found,
  type Gateway,
  one,
  type Script,
  sql,
  sqlPerDialect,
} from './script.ts';

const NAMES = [
  ...['id', 'project', 'pipeline', 'lane', 'status', 'hold', 'gated', 'has_place', 'ready_at'],
  ...['fence', 'session_id', 'claimed_at', 'claimed_seq', 'previous', 'saga', 'fruitless', 'seq'],
  ...['news', 'wake_after', 'submitted_at', 'deadline_at', 'ended_at', 'about', 'key', 'intent'],
  ...['parent_id', 'parent_call', 'redrive_of', 'place_key', 'rate_key', 'progress', 'heartbeats'],
].map((name) => `e.${name}`);

/** All columns of `e`. SQLite keeps inputs in a table of their own and numbers its rows. */
export const EXECUTION_COLUMNS: Dialects = {
  sqlite: [
    ...NAMES,
    'e.row_id',
    '(select input.input from input where input.row_id = e.row_id) as input',
  ].join(', '),
  postgres: [...NAMES, 'e.input'].join(', '),
};

/** True if the values of `e` were erased. No other field of `about` is an object with this name. */
export const IS_ERASED: Dialects = {
  sqlite: `coalesce(instr(e.about, '"erased":{') > 0, false)`,
  postgres: `coalesce(strpos(e.about, '"erased":{') > 0, false)`,
};

const READ = sqlPerDialect(
  EXECUTION_COLUMNS,
  (columns) => `
  select ${columns}
    from hf.execution as e
   where e.id = :id`,
);

const READ_MANY = sqlPerDialect(
  EXECUTION_COLUMNS,
  (columns) => `
  select ${columns}
    from hf.execution as e
   where e.id = any (:ids::uuid[])`,
);

const SAME = sqlPerDialect(
  EXECUTION_COLUMNS,
  (columns) => `
  select ${columns}, hf_now() as now
    from hf.execution as e
   where e.id = :id
   union all
  select ${columns}, hf_now() as now
    from hf.execution as e
   where e.project = :project
     and e.key = :key
     and e.id <> :id`,
);

const LOCK = sqlPerDialect(
  EXECUTION_COLUMNS,
  (columns) => `
  select ${columns}, hf_now() as now
    from hf.execution as e
   where e.id = :id
     for no key update of e`,
);

const LOCK_KEY = sqlPerDialect(
  EXECUTION_COLUMNS,
  (columns) => `
  select ${columns}, hf_now() as now
    from hf.execution as e
   where e.project = :project
     and e.key = :key
     for no key update of e`,
);

const HAS_KEY = sql(`
  select e.id
    from hf.execution as e
   where e.project = :project
     and e.key = :key`);

const APPEND = dialects({
  sqlite: `
  insert into history (row_id, seq, at, kind, name, body)
  select e.row_id, :seq, :at, :kind, :name, :body
    from execution as e
   where e.id = :id`,
  postgres: `
  insert into hf.history (execution_id, seq, at, kind, name, body)
  values (:id, :seq, :at, :kind, :name, :body)`,
});

const EVENT = 'h.seq, h.at, h.fence, h.kind, h.name, h.body';

/** SQLite stores histories by row number, PostgreSQL by execution id. */
const HISTORY: Dialects<{ readonly id: string; readonly of: string; readonly one: string }> = {
  sqlite: {
    id: 'e.id',
    of: 'execution as e join history as h on h.row_id = e.row_id where e.id',
    one: 'history as h where h.row_id = (select e.row_id from execution as e where e.id = :id)',
  },
  postgres: {
    id: 'h.execution_id',
    of: 'hf.history as h where h.execution_id',
    one: 'hf.history as h where h.execution_id = :id',
  },
};

// With a bare parameter, SQLite would plan the statement at every call. Hence `+ 0`.
const HISTORY_PAGE = sqlPerDialect(
  HISTORY,
  (history) => `
  select ${EVENT}
    from ${history.one}
     and h.seq > :after
   order by h.seq
   limit :limit + 0`,
);

const HISTORY_SIZES = sqlPerDialect(
  HISTORY,
  (history) => `
  select coalesce(octet_length(h.body), 0) as bytes
    from ${history.one}
     and h.seq > :after
   order by h.seq
   limit :limit + 0`,
);

const LAST_SEQ = sqlPerDialect(
  HISTORY,
  (history) => `
  select max(h.seq) as seq
    from ${history.one}`,
);

/**
 * Both stores know the size of a body without reading it, so histories that are left out cost
 * little.
 */
const SIZES = sqlPerDialect(
  HISTORY,
  (history) => `
  select ${history.id} as id, coalesce(sum(octet_length(h.body)), 0) as bytes
    from ${history.of} = any (:ids::uuid[])
   group by ${history.id}`,
);

const HISTORIES = sqlPerDialect(
  HISTORY,
  (history) => `
  select ${history.id} as id, ${EVENT}
    from ${history.of} = any (:ids::uuid[])
   order by ${history.id}, h.seq`,
);

const INBOX_PAGE = sql(`
  select i.n, i.at, i.kind, i.name, i.body
    from hf.inbox as i
   where i.execution_id = :id
     and i.n > :after
   order by i.n
   limit :limit + 0`);

const INBOX_SIZES = sql(`
  select coalesce(octet_length(i.body), 0) as bytes
    from hf.inbox as i
   where i.execution_id = :id
     and i.n > :after
   order by i.n
   limit :limit + 0`);

const FIRST_ID = "'00000000-0000-0000-0000-000000000000'::uuid";

// The bounds on pairs and the order leave PostgreSQL only the index of parents. By the primary key
// it would read the whole table.
const CHILDREN_PAGE = sql(`
  select e.id, e.pipeline, e.status
    from hf.execution as e indexed by execution_parent
   where e.parent_id is not null
     and e.parent_id <= :parent
     and (e.parent_id, e.id) > (:parent, coalesce(:after, ${FIRST_ID}))
   order by e.parent_id, e.id
   limit :limit + 0`);

const CARRIED = sqlPerDialect(
  {
    sqlite: { columns: EXECUTION_COLUMNS.sqlite, ofHistory: 'h.row_id == e.row_id' },
    postgres: { columns: EXECUTION_COLUMNS.postgres, ofHistory: 'h.execution_id == e.id' },
  },
  ({ columns, ofHistory }) => `
  select ${columns}, h.body as claim_body
    from hf.execution as e indexed by execution_running
    join hf.history as h on ${ofHistory} and h.seq = e.claimed_seq
   where e.status = 1
     and e.session_id = :session
     and e.fence > :after
   order by e.fence
   limit :limit`,
);

// The seq of an ended execution is that of the event that ended it.
const OUTCOMES = sqlPerDialect(
  { sqlite: 'h.row_id == e.row_id', postgres: 'h.execution_id == e.id' },
  (ofEvent) => `
  select e.id, e.status, e.ended_at, ${EVENT}
    from hf.execution as e
    join hf.history as h on ${ofEvent} and h.seq = e.seq
   where e.id = any (:ids::uuid[])
     and coalesce(e.status >= ${TERMINAL_FROM}, false)`,
);

export function readsOf({ read }: Gateway) {
  return {
    submitted: (request) => read(() => submitted(request)),
    read: (id) => read(() => found(READ, { id }, toExecution)),
    idOfKey: (named) => read(() => idOfKey(named)),
    readMany: (ids) => read(() => readMany(ids)),
    outcomes: (ids) => read(() => readOutcomes(ids)),
    history: (query) => read(() => every(HISTORY_PAGE, query, toHistoryEvent)),
    histories: (query) => read(() => readHistories(query)),
    historyBytes: (id) => read(() => historyBytes(id)),
    bodySizes: ({ of, ...query }) =>
      read(() =>
        every(of === 'history' ? HISTORY_SIZES : INBOX_SIZES, query, ({ bytes }: Sized) => bytes),
      ),
    inbox: (query) => read(() => every(INBOX_PAGE, query, toInboxMessage)),
    children: (query) => read(() => listChildren(query)),
    carried: (query) => read(() => every(CARRIED, query, toCarried)),
  } satisfies Partial<ExecutionStore>;
}

export function* readMany(ids: readonly ExecutionId[]): Script<readonly ExecutionRecord[]> {
  if (ids.length === 0) return [];
  const rows = yield* all<ExecutionRow>(READ_MANY, { ids });
  const found = new Map(rows.map((row) => [row.id, row]));
  return [...new Set(ids)].flatMap((id) => found.get(id) ?? []).map(toExecution);
}

interface Sized {
  readonly bytes: number;
}

type OutcomeRow = HistoryRow & {
  readonly id: ExecutionId;
  readonly status: number;
  readonly ended_at: Instant;
};

function* readOutcomes(ids: readonly ExecutionId[]): Script<readonly Outcome[]> {
  const rows = ids.length === 0 ? [] : yield* all<OutcomeRow>(OUTCOMES, { ids });
  return rows.map((row) => ({
    id: row.id,
    status: toStatus(row.status) as TerminalStatus,
    endedAt: row.ended_at,
    event: toHistoryEvent(row),
  }));
}

/** Finds the execution that has this id or key, and decides what the submit returns. */
function* submitted(request: Submit): Script<SubmitResult | undefined> {
  const { id, key } = request;
  const rows = yield* all<LockedRow>(SAME, request);
  const found = rows.map(toExecution);
  const byId = found.find((execution) => execution.id === id);
  const byKey = key === undefined ? undefined : found.find((execution) => execution.key === key);
  const now = rows[0]?.now ?? (0 as Instant);
  const decision = decideSubmit({ byId, byKey, exhausted: false }, request, now);
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  if (decision.kind === 'existing') return { kind: 'submitted', id: decision.id, existing: true };
  return undefined;
}

/**
 * Decides the result of a submit that was not inserted. Undefined means that the caller can insert
 * it now: the earlier execution is gone, or its key moved to a successor.
 */
export function* existingSubmit(request: Submit): Script<SubmitResult | undefined> {
  const result = yield* submitted(request);
  if (result !== undefined) return result;
  const refusal = yield* refuseRelease(request);
  return refusal && { kind: 'refused', ...refusal };
}

export type LockedRow = ExecutionRow & {
  readonly now: Instant;
  /** SQLite only. */
  readonly row_id?: number;
};

/** Returns the newest version of the row and locks it until the transaction ends. */
export function* lockExecution(id: ExecutionId): Script<LockedRow | undefined> {
  return yield* one<LockedRow>(LOCK, { id });
}

function* idOfKey(named: NamedByKey): Script<ExecutionId | undefined> {
  return (yield* one<{ readonly id: ExecutionId }>(HAS_KEY, named))?.id;
}

/** Locks the execution that has the key. */
export function* lockKey(place: NamedByKey): Script<LockedRow | undefined> {
  for (;;) {
    const row = yield* one<LockedRow>(LOCK_KEY, place);
    // The key may have moved to a row that the statement's snapshot does not contain. A later
    // statement sees it.
    if (row !== undefined || (yield* idOfKey(place)) === undefined) return row;
  }
}

/** Locks the execution that an id or a key names. */
export function* lockNamed(ref: ExecutionRef, project: ProjectName): Script<LockedRow | undefined> {
  const key = keyOfRef(ref);
  return key === undefined
    ? yield* lockExecution(ref as ExecutionId)
    : yield* lockKey({ project, key });
}

/**
 * Appends to the history. The caller has locked the row and saved its seq. No worker owns the
 * execution, so the row's seq is exact.
 */
/** Exact also while a worker runs the execution. The caller has locked the row. */
export function* lastSeqOf(id: ExecutionId): Script<number> {
  return (yield* one<{ readonly seq: number }>(LAST_SEQ, { id }))?.seq ?? 0;
}

export function* appendEvent(id: ExecutionId, event: HistoryEvent): Script<void> {
  yield* all(APPEND, { id, ...event });
}

function* historyBytes(id: ExecutionId): Script<number> {
  const [size] = yield* all<{ readonly bytes: number }>(SIZES, { ids: [id] });
  return size?.bytes ?? 0;
}

function* readHistories({ ids, bytesMax }: ReadHistories): Script<readonly FullHistory[]> {
  if (ids.length === 0) return [];
  const sizes = yield* all<{ id: ExecutionId; bytes: number }>(SIZES, { ids });
  const bytesOf = new Map(sizes.map(({ id, bytes }) => [id, bytes]));
  let bytes = 0;
  const fitting = [...new Set(ids)].filter((id) => {
    bytes += bytesOf.get(id) ?? 0;
    return bytes <= bytesMax;
  });
  const rows = yield* all<HistoryRow & { id: ExecutionId }>(HISTORIES, { ids: fitting });
  const byId = Map.groupBy(rows, ({ id }) => id);
  return fitting.flatMap((id) => {
    const events = byId.get(id)?.map(toHistoryEvent);
    return events === undefined ? [] : [{ id, events }];
  });
}

function* listChildren(query: ListChildren): Script<readonly ChildSummary[]> {
  type Row = { id: ExecutionId; pipeline: PipelineName; status: number };
  const rows = yield* all<Row>(CHILDREN_PAGE, query);
  return rows.map(({ id, pipeline, status }) => ({
    id,
    pipeline: parseRoute(pipeline).pipeline,
    status: toStatus(status),
  }));
}

/** A row with the body of its newest `claimed` event. */
export type CarriedRow = ExecutionRow & { readonly claim_body: string | null };

export function toCarried(row: CarriedRow): Claimed {
  return {
    execution: toExecution(row),
    fence: toFence(row.fence ?? 0),
    previous: previousIn(row.claim_body),
    claimedAt: row.claimed_at as Instant,
  };
}
