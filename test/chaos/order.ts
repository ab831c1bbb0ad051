// The work under chaos: each step writes to two ledgers in the user's own database. One ledger
// checks the fence, the other does not.

import type { Pool } from 'pg';
import { type Pipeline, pipeline as presentPipeline } from '../../src/engine/pipeline.ts';
import { PostgresGuard } from '../../src/guards/postgres.ts';
import type { Fence } from '../../src/lease/fence.ts';

export interface OrderInput {
  readonly n: number;
  /** Sleeps before the second step. */
  readonly naps: boolean;
  /** Waits for the signal `go` before the third step. */
  readonly waits: boolean;
}

export const STEPS = ['reserve', 'charge', 'ship'] as const;
const NAP_MS = 400;
const guard = new PostgresGuard();

export const LEDGER_SQL = `${guard.createTable};
  create table fenced (id bigserial primary key, key text not null, step text not null, fence bigint not null);
  create table unfenced (id bigserial primary key, key text not null, step text not null, fence bigint not null)`;

/**
 * `ignoresFences`: a planted bug, the fenced ledger accepts every write. `pipeline`: of the build
 * that runs it.
 */
export function orderPipeline(
  ledger: Pool,
  {
    ignoresFences = false,
    pipeline = presentPipeline,
  }: { readonly ignoresFences?: boolean; readonly pipeline?: typeof presentPipeline } = {},
): Pipeline<OrderInput, number> {
  const write = async (key: string, step: string, fence: Fence): Promise<void> => {
    const row = [key, step, fence];
    await ledger.query('insert into unfenced (key, step, fence) values ($1, $2, $3)', row);
    const client = await ledger.connect();
    try {
      await client.query('begin');
      if (!ignoresFences) await guard.require(client, { key, fence });
      await client.query('insert into fenced (key, step, fence) values ($1, $2, $3)', row);
      await client.query('commit');
    } catch (error) {
      await client.query('rollback');
      throw error;
    } finally {
      client.release();
    }
  };
  return pipeline({
    name: 'order',
    async run(ctx, { n, naps, waits }: OrderInput) {
      for (const step of STEPS) {
        if (step === 'charge' && naps) await ctx.sleep(NAP_MS);
        if (step === 'ship' && waits) await ctx.receive('go');
        await ctx.step(step, async ({ fence }) => {
          // Long enough that faults meet steps half done.
          await new Promise((resolve) => setTimeout(resolve, 20 + ((n * 37) % 100)));
          await write(`order/${n}`, step, fence);
        });
      }
      return n;
    },
  });
}
