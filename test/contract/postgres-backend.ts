import pg from 'pg';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { toInstant } from '../../src/support/clock.ts';
import type { ContractBackend } from '../../src/testing/index.ts';
import { durableHarness } from './durable-harness.ts';

const START_MS = Date.UTC(2030, 0, 1);

/**
 * One schema per case in the database at `url`, and a table of one row for its time. The server's
 * own clock cannot be set back by its clients, so cases about that do not apply.
 */
export function postgresBackend(url: string): ContractBackend & { end(): Promise<void> } {
  const admin = new pg.Pool({ connectionString: url, max: 1 });
  // The database may go before the last connection to it has closed.
  admin.on('error', () => undefined);
  let schemas = 0;
  return {
    offers: ['durable', 'two-clients', 'server'],
    async open(policy) {
      schemas += 1;
      const schema = `case_${schemas}`;
      let nowMs = START_MS;
      await admin.query(`create table public.${schema}_clock as select ${nowMs}::bigint as ms`);
      const nowSql = `(select ms from public.${schema}_clock)`;
      return durableHarness({
        openClient: () => openPostgresStore({ url, schema, policy, nowSql, connectionsMax: 4 }),
        async advance(ms) {
          nowMs += ms;
          await admin.query(`update public.${schema}_clock set ms = $1`, [nowMs]);
        },
        now: () => toInstant(nowMs),
        // To the store a server that was started anew is one with another start time, and one that
        // took over or was restored has another timeline too.
        async restarted(how) {
          const moved = how === 'elsewhere' ? ', timeline = timeline - 1' : '';
          await admin.query(`update ${schema}.meta set started_at = 'epoch'${moved}`);
        },
        async dispose() {
          await admin.query(`drop schema if exists ${schema} cascade`);
          await admin.query(`drop table public.${schema}_clock`);
        },
      });
    },
    end: () => admin.end(),
  };
}
