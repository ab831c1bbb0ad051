// The execution under test: five steps, a sleep that parks, two children, an attachment. Every
// effect is a line in a file outside all transactions, so the test sees what really ran.

import { appendFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { ExecutionLease, StepContext } from '../../src/engine/context.ts';
import { type Pipeline, pipeline } from '../../src/engine/pipeline.ts';
import { SqliteGuard } from '../../src/guards/sqlite.ts';

export interface Effect {
  readonly key: string;
  readonly fence: number;
}

export function crashPipelines(effects: string): {
  readonly order: Pipeline<number, unknown>;
  readonly item: Pipeline<number, number>;
} {
  const note = ({ idempotencyKey, fence }: StepContext): void => {
    appendFileSync(effects, `${JSON.stringify({ key: idempotencyKey, fence })}\n`);
  };
  const item = pipeline({
    name: 'item',
    run: (ctx, n: number) =>
      ctx.step('pack', (step) => {
        note(step);
        return n * 10;
      }),
  });
  const order = pipeline({
    name: 'order',
    async run(ctx, n: number) {
      const reserved = await ctx.step('reserve', (step) => {
        note(step);
        return n + 1;
      });
      const charged = await ctx.step('charge', (step) => {
        note(step);
        return reserved * 2;
      });
      await ctx.sleep(40, 'cool off');
      const children = await ctx.fanOut(item, [charged, charged + 1]);
      const packed = await children.results();
      await ctx.attach('label.txt', `to ${packed.join(' and ')}`);
      const shipped = await ctx.step('ship', (step) => {
        note(step);
        return packed.reduce((sum, each) => sum + each, 0);
      });
      await ctx.step('mail', (step) => note(step));
      return ctx.step('close', (step) => {
        note(step);
        return { reserved, charged, packed, shipped };
      });
    },
  });
  return { order, item };
}

/** Two blocks of one lease, the first with a park inside. A guard checks every effect. */
export function leasedPipeline(effects: string): Pipeline<number, unknown> {
  const note = ({ idempotencyKey }: StepContext, lease: ExecutionLease): void => {
    lease.assertHeld();
    const guard = new SqliteGuard();
    const database = new DatabaseSync(`${effects}.db`, { timeout: 5_000 });
    database.exec(guard.createTable);
    database.exec('begin immediate');
    guard.require(database, lease);
    appendFileSync(effects, `${JSON.stringify({ key: idempotencyKey, fence: lease.fence })}\n`);
    database.exec('commit');
    database.close();
  };
  return pipeline({
    name: 'leased',
    async run(ctx, n: number) {
      const taken = await ctx.lease('stock', async (lease) => {
        const before = await ctx.step('take', (step) => {
          note(step, lease);
          return n;
        });
        await ctx.sleep(40, 'cool off');
        return ctx.step('count', (step) => {
          note(step, lease);
          return before + 1;
        });
      });
      return ctx.lease('stock', (lease) =>
        ctx.step('put', (step) => {
          note(step, lease);
          return taken * 2;
        }),
      );
    },
  });
}
