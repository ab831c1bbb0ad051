// Marks for an HTTP server of several processes: two rows per resource.
//
// `wanted` is the mark: the highest fence that was shown. It is raised and committed at once, and
// no transaction ever holds a lock on it. From then on, every lower fence is refused. `entered` is
// the highest fence before which all requests have left. A request holds it with FOR SHARE until it
// leaves. So requests of one term are inside side by side, and raising `entered`, by any process,
// waits for those of earlier terms. `wanted` is already higher by then, so no new ones join them.
//
// A process that raises `entered` waits for its row, so only one at a time may try. Otherwise a
// second request of the same term would wait for the first, which is inside by then, instead of
// joining it.
//
// A request reads `wanted` again once it has its lock. Either it sees a later holder and leaves, or
// that holder raised `wanted` afterwards and will wait for this lock.

import { type Clock, systemClock } from '../support/clock.ts';
import { StoreUnavailable } from '../support/fault.ts';
import { integerOption, rejectUnknownOptions } from '../support/options.ts';
import { systemTimers, type Timers } from '../support/timer.ts';
import { type Fenced, parseFenced, parseMark, staleAt } from './mark.ts';
import { type Busy, type EnterResult, type Marks, WAIT_MS, WAIT_MS_MAX } from './marks.ts';
import {
  checkPool,
  connectWithin,
  fenceIn,
  HeldPermit,
  type PostgresConnection,
  type PostgresPool,
} from './postgres-connection.ts';
import { tableName, withNextStep } from './sql.ts';

/** Options of `postgresMarks`. */
export interface PostgresMarksOptions {
  /** The table of the marks; not that of a `PostgresGuard`. Default `holdfast_place`. */
  readonly table?: string;
  /**
   * Milliseconds that a new holder waits for requests of an earlier one, up to an hour. Default
   * 10,000.
   */
  readonly waitMs?: number;
  /** The timers. Default: those of Node. Replace them in tests. */
  readonly timers?: Timers;
  /** The clock. Default: the system's. Replace it in tests. */
  readonly clock?: Clock;
}

/** Marks in PostgreSQL, for a server of several processes. */
export interface PostgresMarks extends Marks {
  /** The SQL that creates the table. Run it once, in your migrations. */
  readonly createTable: string;
}

const OPTIONS: readonly string[] = ['table', 'waitMs', 'timers', 'clock'];

/** The SQLSTATEs after `lock_timeout` or `statement_timeout`. */
const TIMEOUTS: ReadonlySet<unknown> = new Set(['55P03', '57014']);
/** The time limit for work other than waiting: running a statement, or opening a connection. */
const WORK_MS = 2_000;

/**
 * Keeps marks in PostgreSQL. Takes one connection of the pool for each request that is inside.
 *
 * Throws `InvalidInput` for invalid options. `enter` throws `StoreUnavailable` if the table is
 * missing.
 *
 * @example
 * import { Pool } from 'pg';
 *
 * const pool = new Pool({ connectionString: 'postgres://localhost/app' });
 * const marks = postgresMarks(pool);
 * await pool.query(marks.createTable);
 */
export function postgresMarks(
  pool: PostgresPool,
  options: PostgresMarksOptions = {},
): PostgresMarks {
  checkPool('postgresMarks', pool);
  rejectUnknownOptions('postgresMarks', options, OPTIONS);
  const range = { min: 1, max: WAIT_MS_MAX };
  const waitMs = integerOption('waitMs', options.waitMs ?? WAIT_MS, range);
  const { table = 'holdfast_place', timers = systemTimers, clock = systemClock } = options;
  const sql = statementsFor(tableName(table));
  return {
    createTable: sql.createTable,
    async enter(fenced) {
      const presented = parseFenced(fenced);
      const until = clock.monotonicMs() + waitMs;
      const remainingMs = () => Math.max(1, Math.ceil(until - clock.monotonicMs()));
      const client = await connectWithin(pool, waitMs + WORK_MS, timers);
      const permit = new HeldPermit(client, presented.key);
      try {
        const entry: Entry = { client, presented, sql, remainingMs, isBroken: false };
        const result = await enterWith(entry);
        if (result === 'entered') return permit.entered();
        permit.giveBack(entry.isBroken);
        return result;
      } catch (error) {
        permit.giveBack(true);
        throw withNextStep(error, { table, owner: 'marks' });
      }
    },
  };
}

interface Statements {
  readonly createTable: string;
  readonly readMarks: string;
  readonly want: string;
  readonly queue: string;
  readonly begin: string;
  readonly raise: string;
  readonly hold: string;
  readonly readWanted: string;
}

function statementsFor(table: string): Statements {
  return {
    createTable: `
create table if not exists ${table} (
  resource text,
  part     text check (part in ('wanted', 'entered')),
  fence    bigint not null,
  primary key (resource, part)
)`,
    readMarks: `
select (select fence from ${table} where resource = $1 and part = 'wanted') as wanted,
       (select fence from ${table} where resource = $1 and part = 'entered') as entered`,
    want: `
insert into ${table} as kept (resource, part, fence)
values ($1, 'wanted', $2)
on conflict (resource, part) do update
   set fence = excluded.fence
 where kept.fence < excluded.fence`,
    queue: `select pg_advisory_xact_lock(hashtextextended('${table.replaceAll("'", "''")}/' || $1, 0))`,
    begin: `
insert into ${table} (resource, part, fence)
values ($1, 'entered', $2)
on conflict (resource, part) do nothing`,
    raise: `
update ${table} set fence = $2
 where resource = $1 and part = 'entered' and fence < $2`,
    hold: `select fence from ${table} where resource = $1 and part = 'entered' for share`,
    // The limit applied to the wait. The request itself may take any time.
    readWanted: `
select fence, set_config('statement_timeout', '0', true)
  from ${table} where resource = $1 and part = 'wanted'`,
  };
}

interface Entry {
  readonly client: PostgresConnection;
  readonly presented: Fenced;
  readonly sql: Statements;
  /** The rest of the time limit, for all waits together. */
  remainingMs(): number;
  /** The result is known, but the connection is unusable. */
  isBroken: boolean;
}

/** Every round returns or raises a value that is never lowered. The next round finds it raised. */
async function enterWith(
  entry: Entry,
): Promise<Exclude<EnterResult, { kind: 'entered' }> | 'entered'> {
  const { key, fence } = entry.presented;
  const busy: Busy = { kind: 'busy', resource: key };
  for (;;) {
    const { wanted, entered } = await readMarks(entry);
    if (wanted > fence) return staleAt(entry.presented, wanted);
    if (wanted < fence) {
      await announce(entry);
    } else if (entered < fence) {
      if (!(await clear(entry))) return busy;
    } else {
      const taken = await take(entry);
      if (taken !== 'again') return taken === 'entered' ? taken : busy;
    }
  }
}

async function readMarks({ client, presented: { key }, sql }: Entry) {
  const { rows } = await client.query(sql.readMarks, [key]);
  const row = { ...(rows[0] as Readonly<Record<string, unknown>> | undefined) };
  const markOf = (value: unknown) => (value === null ? 0 : parseMark(key, value));
  return { wanted: markOf(row['wanted']), entered: markOf(row['entered']) };
}

/** No transaction holds a lock on `wanted`, so this has its own short time limit. */
async function announce(entry: Entry): Promise<void> {
  const { client, presented, sql } = entry;
  const isRaised = await committed(entry, WORK_MS, async () => {
    await client.query(sql.want, [presented.key, presented.fence]);
  });
  if (isRaised) return;
  throw new StoreUnavailable(
    `The mark of "${presented.key}" could not be raised: another program locks its row. ` +
      'Nothing was done. Find the lock in pg_locks, then try again.',
  );
}

/** Waits until all requests with lower fences have left. Returns false after the time limit. */
async function clear(entry: Entry): Promise<boolean> {
  const { client, presented, sql } = entry;
  const { key, fence } = presented;
  return await committed(entry, entry.remainingMs(), async () => {
    await client.query(sql.queue, [key]);
    await client.query(limits(entry.remainingMs()), []);
    await client.query(sql.begin, [key, fence]);
    await client.query(sql.raise, [key, fence]);
  });
}

/** Returns false after the time limit. If the raise found a higher mark, the next read shows it. */
async function committed(
  entry: Entry,
  waitMs: number,
  work: () => Promise<void>,
): Promise<boolean> {
  await entry.client.query(begin(waitMs), []);
  return await unlessTimedOut(
    entry,
    async () => {
      await work();
      await entry.client.query('commit', []);
      return true;
    },
    false,
  );
}

async function take(entry: Entry): Promise<'entered' | 'busy' | 'again'> {
  const {
    client,
    presented: { key, fence },
    sql,
  } = entry;
  await client.query(begin(entry.remainingMs()), []);
  return await unlessTimedOut<'entered' | 'busy' | 'again'>(
    entry,
    async () => {
      const held = await client.query(sql.hold, [key]);
      const wanted = await client.query(sql.readWanted, [key]);
      const marks = [held, wanted].map(({ rows }) => Number(fenceIn(rows)));
      if (marks.every((mark) => mark === fence)) return 'entered';
      await client.query('rollback', []);
      return 'again';
    },
    'busy',
  );
}

async function unlessTimedOut<Result>(
  entry: Entry,
  work: () => Promise<Result>,
  timedOut: Result,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!isTimeout(error)) throw error;
    // A failed transaction has the connection's own limits again, so the server may end it before
    // this rollback.
    await entry.client.query('rollback', []).catch(() => {
      entry.isBroken = true;
    });
    return timedOut;
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && TIMEOUTS.has(error.code);
}

/**
 * One message, so that no limit of the connection can end the transaction in between: a permit
 * lasts as long as its request. A raised mark must survive a crash.
 */
function begin(waitMs: number): string {
  return `
begin isolation level read committed read write;
set local idle_in_transaction_session_timeout = 0;
select set_config('transaction_timeout', '0', true)
 where current_setting('transaction_timeout', true) is not null;
select set_config('synchronous_commit', 'on', true)
 where current_setting('synchronous_commit') = 'off';
${limits(waitMs)}`;
}

/**
 * `lock_timeout` applies to each wait of a statement; `statement_timeout` applies to all of them
 * together.
 */
function limits(waitMs: number): string {
  return `
set local lock_timeout = ${waitMs};
set local statement_timeout = ${waitMs + WORK_MS}`;
}
