// PostgreSQL for thousands of programs: clients, with their connections and prepared statements,
// stay from one program to the next, and only the rows are deleted.

import pg from 'pg';
import type { ContractBackend } from '../../contract/index.ts';
import type { LeasePolicy } from '../../src/lease/policy.ts';
import type { KernelStore } from '../../src/lease/port.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { toInstant } from '../../src/support/clock.ts';

const START_MS = Date.UTC(2030, 0, 1);

const SCHEMA = 'model';
const NOW_SQL = '(select ms from public.clock)';

export function fastPostgres(url: string): ContractBackend & { end(): Promise<void> } {
  const admin = new pg.Pool({ connectionString: url, max: 1 });
  // The database may be dropped before the last connection to it has closed.
  admin.on('error', () => undefined);
  const clients = new Clients(url);
  let nowMs = START_MS;
  const moveClock = (): Promise<unknown> => admin.query('update public.clock set ms = $1', [nowMs]);
  return {
    offers: ['durable', 'two-clients', 'server', 'projects'],
    async open(policy) {
      nowMs = START_MS;
      await admin.query(`create table if not exists public.clock as select ${nowMs}::bigint as ms`);
      await moveClock();
      const store = await clients.open(policy, 0);
      await admin.query(EMPTY);
      return {
        store,
        another: () => clients.open(policy, 1),
        async reopen() {
          await clients.close();
          return clients.open(policy, 0);
        },
        async advance(ms) {
          nowMs += ms;
          await moveClock();
        },
        now: () => toInstant(nowMs),
        async restarted(how) {
          const moved = how === 'elsewhere' ? ', timeline = timeline - 1' : '';
          await admin.query(`update ${SCHEMA}.meta set started_at = 'epoch'${moved}`);
        },
        close: async () => undefined,
      };
    },
    async end() {
      await clients.close();
      await admin.end();
    },
  };
}

/** Open clients by policy. All of them see the same rows, but only one program runs at a time. */
class Clients {
  readonly #url: string;
  readonly #open: Map<string, KernelStore> = new Map();

  constructor(url: string) {
    this.#url = url;
  }

  async open(policy: Partial<LeasePolicy>, number: number): Promise<KernelStore> {
    const name = `${number} ${JSON.stringify(policy)}`;
    const known = this.#open.get(name);
    if (known !== undefined) return known;
    const client = await openPostgresStore({
      ...{ url: this.#url, schema: SCHEMA, policy, nowSql: NOW_SQL, connectionsMax: 3 },
    });
    this.#open.set(name, client);
    return client;
  }

  async close(): Promise<void> {
    const clients = [...this.#open.values()];
    this.#open.clear();
    for (const client of clients) await client.close();
  }
}

const TIMELINE = "('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::integer";

/** Like new, except for the server's own state. */
const EMPTY = [
  ...['session', 'lease', 'ticket', 'flap', 'event'].map(
    (table) => `delete from ${SCHEMA}.${table}`,
  ),
  `update ${SCHEMA}.meta set halted = null, events_deleted = 0, started_at = pg_postmaster_start_time(), timeline = ${TIMELINE}`,
  `alter sequence ${SCHEMA}.fence restart`,
  `alter sequence ${SCHEMA}.event_seq restart`,
].join(';\n');
