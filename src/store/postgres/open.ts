// The PostgreSQL store (14 or newer): any number of processes on one database, in its own schema.

import type { Pool } from 'pg';
import { type LeasePolicy, resolvePolicy } from '../../lease/policy.ts';
import type { LeaseStore, SessionStore } from '../../lease/port.ts';
import { rejectUnknownOptions } from '../../support/options.ts';
import type { CoordinatorStore } from '../contract/execution-store.ts';
import { accessOf } from '../sql/access/open.ts';
import { leaseReadsOf } from '../sql/leases/reads.ts';
import { endSession, openSession } from '../sql/leases/sessions.ts';
import { extendLiving } from '../sql/leases/sweep.ts';
import { termsOf } from '../sql/leases/terms.ts';
import { acquire } from './acquire.ts';
import { adopt } from './adopt-server.ts';
import { checkpoint } from './checkpoint.ts';
import { connectDirectly, describeDurability, loadDriver, settingsOf } from './connect.ts';
import { Database, STORE_NOW_SQL } from './database.ts';
import { openExecutions } from './executions/open.ts';
import { sealsOf } from './export/open-for-export.ts';
import { refuseSealed } from './export/seal.ts';
import { leaseGatewayOf, plainGatewayOf } from './gateway.ts';
import { heartbeat } from './heartbeat.ts';
import { Hints } from './hints.ts';
import { knownMigrations, migrate } from './migrate.ts';
import { openPool } from './pooler.ts';
import { type Gaps, readEvents } from './read-events.ts';
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
    const address = { module: import.meta.url, open: 'openPostgresStore', options: sendable };
    const hintsReach = canListen ? 'all-processes' : 'this-process';
    const parts = { pool, database, policy, hints, gaps: new Map(), opened };
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

function sessionsOf({ database, policy }: Parts): SessionStore {
  const gateway = plainGatewayOf(database);
  return {
    ...leaseReadsOf(gateway).sessions,
    open: (request) => gateway.write(() => openSession(request, policy)),
    heartbeat: (request) => heartbeat(database, policy, request),
    end: (request) => gateway.write(() => endSession(request)),
    sweep: (request) => sweep(database, policy, request),
    recover: async () => ({ extended: await gateway.write(() => extendLiving(policy)) }),
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
