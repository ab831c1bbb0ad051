// The PostgreSQL store (14 or newer): any number of processes on one database, in its own schema.

import type { Pool } from 'pg';
import type { LeaseEvent } from '../../lease/event.ts';
import { type LeasePolicy, resolvePolicy } from '../../lease/policy.ts';
import type { EventPage, LeaseStore, ReadEvents } from '../../lease/port.ts';
import { rejectUnknownOptions } from '../../support/options.ts';
import type { CoordinatorSessions, CoordinatorStore } from '../contract/execution-store.ts';
import { type EventRow, toEvent } from '../lease-rows.ts';
import { accessOf } from '../sql/access/open.ts';
import { leaseReadsOf } from '../sql/leases/reads.ts';
import { endSession, openSession } from '../sql/leases/sessions.ts';
import { extendLiving } from '../sql/leases/sweep.ts';
import { termsOf } from '../sql/leases/terms.ts';
import { acquire } from './acquire.ts';
import { adopt } from './adopt-server.ts';
import { checkpoint } from './checkpoint.ts';
import { connectDirectly, describeDurability, loadDriver, settingsOf } from './connect.ts';
import { Database, STORE_NOW_SQL, statement } from './database.ts';
import { openExecutions } from './executions/open.ts';
import { sealsOf } from './export/open-for-export.ts';
import { refuseSealed } from './export/seal.ts';
import { leaseGatewayOf, plainGatewayOf } from './gateway.ts';
import { heartbeats } from './heartbeat.ts';
import { Hints } from './hints.ts';
import { knownMigrations, migrate } from './migrate.ts';
import { openPool } from './pooler.ts';
import { raiseEpoch } from './recover.ts';
import { OPTION_NAMES, type PostgresStoreOptions, schemaOf } from './store-options.ts';
import { sweep } from './sweep.ts';

export type { PostgresStoreOptions } from './store-options.ts';

interface Parts {
  readonly pool: Pool;
  readonly database: Database;
  readonly policy: LeasePolicy;
  readonly hints: Hints;
  readonly gaps: Gaps;
  readonly opened: ReturnType<typeof openExecutions>;
  readonly beats: ReturnType<typeof heartbeats>;
}

/**
 * Opens a store in PostgreSQL 14 or newer, for any number of processes. Creates its schema. Needs
 * the package `pg`.
 *
 * Throws `InvalidInput` for invalid options, `StoreUnavailable` if the database cannot be reached,
 * and `StoreSealed` if the store was exported.
 *
 * @example
 * const store = await openPostgresStore({ url: 'postgres://localhost/app' });
 */
export async function openPostgresStore(given: PostgresStoreOptions): Promise<CoordinatorStore> {
  rejectUnknownOptions('openPostgresStore', given, OPTION_NAMES);
  const policy = resolvePolicy(given.policy);
  const schema = schemaOf(given);
  const pg = await loadDriver();
  const { pool, options } = await openPool(given, pg);
  const database = new Database(pool, {
    schema,
    nowSql: options.nowSql ?? STORE_NOW_SQL,
    prepare: options.prepare ?? true,
    settings: settingsOf(options),
  });
  try {
    await migrate(pool, database, { schema, migrations: knownMigrations() });
    await refuseSealed(database);
    await database.transaction((queries) => adopt(queries, policy));
    const durability = await describeDurability(database);
    // LISTEN does not work through a pooler that shares connections. Hints then stay in this
    // process.
    const canListen = options.pooler !== true || options.directUrl !== undefined;
    const connect = canListen ? () => connectDirectly(options, pg) : undefined;
    const hints = new Hints(database, `hf_${schema}`, connect);
    // A function cannot be sent to another thread.
    const { onBoundary, ...sendable } = options;
    // The channel keeps its earlier name, so that builds of both names wake each other.
    const wakeups = new Hints(database, `hf_${schema}_ring`, connect);
    const opened = openExecutions({ database, policy, hints: wakeups, onBoundary });
    const beats = heartbeats(database, policy);
    const address = { module: import.meta.url, open: 'openPostgresStore', options: sendable };
    const hintsReach = canListen ? 'all-processes' : 'this-process';
    const parts = { pool, database, policy, hints, gaps: new Map(), opened, beats };
    return storeOf(parts, { durability, address, hintsReach });
  } catch (fault) {
    await pool.end();
    throw fault;
  }
}

function storeOf(
  parts: Parts,
  about: Required<Pick<CoordinatorStore, 'durability' | 'address' | 'hintsReach'>>,
): CoordinatorStore {
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await parts.opened.close();
    await parts.beats.close();
    await parts.hints.close();
    await parts.pool.end();
  };
  return {
    kind: 'postgres',
    policy: parts.policy,
    ...about,
    sessions: sessionsOf(parts),
    leases: leasesOf(parts),
    executions: parts.opened.executions,
    access: accessOf(plainGatewayOf(parts.database)),
    seals: sealsOf(parts.database),
    raiseEpoch: (request) => raiseEpoch(parts.database, request),
    onHint: (listener) => parts.hints.listen(listener),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

function sessionsOf({ database, policy, beats }: Parts): CoordinatorSessions {
  const gateway = plainGatewayOf(database);
  return {
    ...leaseReadsOf(gateway).sessions,
    open: (request) => gateway.write(() => openSession(request, policy)),
    heartbeat: (request) => beats.push(request),
    end: (request) => gateway.write(() => endSession(request)),
    sweep: (request) => sweep(database, policy, request),
    recover: async (request) => ({
      extended: await gateway.write(() => extendLiving(policy, request)),
    }),
  };
}

function leasesOf({ database, policy, hints, gaps }: Parts): LeaseStore {
  const gateway = leaseGatewayOf(database, hints);
  return {
    ...leaseReadsOf(gateway).leases,
    ...termsOf(gateway, policy),
    acquire: (request) => acquire(database, policy, request),
    checkpoint: (request) => checkpoint(database, policy, request),
    events: (query) => readEvents(database, gaps, query),
  };
}

// A transaction takes its sequence number before it commits, so a reader may see 10 while the
// writer of 9 is still running. The writer already has a transaction id, because it wrote its row
// first. When the reader first sees a gap, it takes a transaction id of its own, which is greater
// than all existing ones. Once the oldest running transaction (xmin) reaches that id, the writer of
// 9 has ended, and its event is visible or never will be. Until then, the page ends before the gap
// (O-1).
const READ = statement(`
  select e.seq, e.at, e.kind, e.key, e.fence, e.rev, e.session_id, e.owner, e.detail::text as detail,
         pg_snapshot_xmin(pg_current_snapshot())::text as xmin,
         (select m.events_deleted from hf.meta m where m.id = 1) as deleted
    from (select 1) as always
    left join (select * from hf.event e where e.seq > $1 order by e.seq limit $2) e on true
   order by e.seq`);

type ReadRow = Partial<EventRow> & { readonly xmin: string; readonly deleted: number };

const TAKE_ID = statement('select pg_current_xact_id()::text as id');

/** The gaps that this reader met, each with the transaction id that must have ended first. */
type Gaps = Map<number, bigint>;

/** If no transaction is about to fill a gap, a second read settles it. */
const READS_MAX = 2;

async function readEvents(database: Database, gaps: Gaps, query: ReadEvents): Promise<EventPage> {
  for (let reads = 1; ; reads += 1) {
    const rows = await database.rows<ReadRow>(READ, [query.after, query.limit]);
    const [first] = rows;
    if (first === undefined) return { kind: 'events', events: [], next: query.after };
    if (query.after < first.deleted) return { kind: 'truncated', oldest: first.deleted };
    const { events, next, gap } = pageOf(rows, gaps, query.after);
    if (gap !== undefined && !gaps.has(gap)) {
      const [taken] = await database.rows<{ id: string }>(TAKE_ID, []);
      gaps.set(gap, BigInt(taken?.id ?? first.xmin));
      if (reads < READS_MAX) continue;
    }
    return { kind: 'events', events, next };
  }
}

/** Returns the events up to the first unsettled gap. */
function pageOf(
  rows: readonly ReadRow[],
  gaps: Gaps,
  after: number,
): { readonly events: readonly LeaseEvent[]; readonly next: number; readonly gap?: number } {
  const events: LeaseEvent[] = [];
  let next = after;
  for (const row of rows) {
    if (row.seq === undefined || row.seq === null) break;
    const gap = next + 1;
    if (row.seq > gap && !isSettled(gaps, gap, row)) return { events, next, gap };
    gaps.delete(gap);
    events.push(toEvent(row as EventRow));
    next = row.seq;
  }
  return { events, next };
}

function isSettled(gaps: Gaps, gap: number, row: ReadRow): boolean {
  const takenAfter = gaps.get(gap);
  return takenAfter !== undefined && BigInt(row.xmin) >= takenAfter;
}
