import type { ContractBackend } from '../../contract/index.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { toInstant } from '../../src/support/clock.ts';
import { Schemas } from '../services/postgres-schemas.ts';
import { durableHarness } from './durable-harness.ts';

const START_MS = Date.UTC(2030, 0, 1);

/**
 * A fresh schema for each case in the database at `url`, with a table of one row for its time.
 * Clients cannot set the server's own clock back, so cases about that do not apply.
 */
export function postgresBackend(url: string): ContractBackend & { end(): Promise<void> } {
  const schemas = new Schemas(url, 'case');
  return {
    offers: ['durable', 'two-clients', 'server', 'projects'],
    async open(policy) {
      const schema = await schemas.take();
      let nowMs = START_MS;
      const clock = `public.clock_of_${schema}`;
      await schemas.query(`create table if not exists ${clock} as select 0::bigint as ms`);
      await schemas.query(`update ${clock} set ms = ${nowMs}`);
      const nowSql = `(select ms from ${clock})`;
      return durableHarness({
        openClient: () => openPostgresStore({ url, schema, policy, nowSql, connectionsMax: 4 }),
        async advance(ms) {
          nowMs += ms;
          await schemas.query(`update ${clock} set ms = $1`, [nowMs]);
        },
        now: () => toInstant(nowMs),
        // For the store, a restarted server has another start time. A server that took over or was
        // restored has another timeline too.
        async restarted(how) {
          const moved = how === 'elsewhere' ? ', timeline = timeline - 1' : '';
          await schemas.query(`update ${schema}.meta set started_at = 'epoch'${moved}`);
        },
        dispose: () => schemas.giveBack(schema),
      });
    },
    end: () => schemas.end(),
  };
}
