// The host's clock jumps forward and back by an hour while workers run. Timers still fire; the
// clocks that do not jump decide how late.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { type Clock, systemClock } from '../../src/support/clock.ts';
import { postgresForTests } from '../services/postgres.ts';
import { pause } from './stage.ts';

const HOUR_MS = 3_600_000;
const JUMPS = [1, 0, -1, 1, 0, 2, -1, 0];
const EXECUTIONS = 30;

class JumpingClock implements Clock {
  aheadMs = 0;

  wallMs(): number {
    return systemClock.wallMs() + this.aheadMs;
  }

  monotonicMs(): number {
    return systemClock.monotonicMs();
  }
}

const { url, release } = await postgresForTests();
const folder = await mkdtemp(join(tmpdir(), 'hf-jumps-'));
after(async () => {
  await release();
  await rm(folder, { recursive: true, force: true });
});

let opened = 0;

function nextName(): string {
  opened += 1;
  return `jumps_${opened}`;
}

/** Stores that use the host's time jump with it; a server has its own. */
const STORES: readonly {
  readonly kind: string;
  open(clock: Clock): Promise<CoordinatorStore>;
}[] = [
  { kind: 'memory', open: async (clock) => openMemoryStore({ clock }) },
  {
    kind: 'sqlite',
    open: (clock) => openSqliteStore({ file: join(folder, `${nextName()}.db`), clock }),
  },
  {
    kind: 'postgres',
    open: () => openPostgresStore({ url, schema: nextName() }),
  },
];

for (const { kind, open } of STORES) {
  const on = async (work: (holdfast: Holdfast, clock: JumpingClock) => Promise<void>) => {
    const clock = new JumpingClock();
    const store = await open(clock);
    const holdfast = new Holdfast({ store, clock });
    try {
      await work(holdfast, clock);
    } finally {
      await holdfast.close();
      await store.close();
    }
  };

  test(
    `${kind}: running, sleeping and waiting executions continue when the host’s clock jumps`,
    {
      timeout: 60_000,
    },
    () =>
      on(async (holdfast, clock) => {
        const fences = new Map<string, number[]>();
        const working = pipeline({
          name: 'working',
          async run(ctx, n: number) {
            const note = (name: string): Promise<number> =>
              ctx.step(name, async ({ fence, idempotencyKey }) => {
                fences.set(idempotencyKey, [...(fences.get(idempotencyKey) ?? []), fence]);
                await pause(10);
                return n;
              });
            await note('first');
            await ctx.sleep(50);
            await note('second');
            await ctx.sleep(300);
            return note('third');
          },
        });
        for (const _ of [1, 2]) {
          await holdfast.worker({ pipelines: [working], pollMs: 50, ttlMs: 600, concurrency: 10 });
        }
        const handles = await Promise.all(
          Array.from({ length: EXECUTIONS }, (_, n) => holdfast.submit(working, n)),
        );
        for (const hours of JUMPS) {
          await pause(60);
          clock.aheadMs = hours * HOUR_MS;
        }
        const outputs = await Promise.all(handles.map(({ result }) => result()));
        assert.deepEqual(
          outputs,
          handles.map((_, n) => n),
        );
        for (const { id } of handles) {
          const done = (await holdfast.history(id)).filter(
            ({ kind: of }) => of === 'step-completed',
          );
          assert.equal(done.length, 3);
        }
        for (const each of fences.values())
          assert.deepEqual(
            each,
            each.toSorted((a, b) => a - b),
          );
      }),
  );

  for (const hours of [1, -1]) {
    test(
      `${kind}: an execution wakes, and a schedule fires, in time on a host whose clock jumps by ${hours} h`,
      {
        timeout: 30_000,
      },
      () =>
        on(async (holdfast, clock) => {
          const sleepy = pipeline({
            name: 'sleepy',
            async run(ctx) {
              await ctx.sleep(300);
              return 'awake';
            },
          });
          await holdfast.worker({ pipelines: [sleepy], pollMs: 50, ttlMs: 3_000 });
          const { id, result } = await holdfast.submit(sleepy, undefined);
          while ((await holdfast.read(id))?.status !== 'waiting') await pause(5);
          clock.aheadMs = hours * HOUR_MS;
          const put = { id: 'often', every: 300, pipeline: sleepy } as const;
          await holdfast.schedules.put({ ...put, catchUp: 'all', overlap: 'allow' });
          const later = await holdfast.submit(sleepy, undefined, { delayMs: 60_000 });
          assert.equal((await holdfast.explain(later.id))?.code, 'delayed');
          assert.equal(await result(), 'awake');
          const made = { attribute: { name: 'schedule', equals: 'often' } } as const;
          while ((await holdfast.list(made)).items.length === 0) await pause(20);
          await holdfast.schedules.remove('often');
          const first = (await holdfast.list(made)).items.at(-1);
          const { submittedAt = 0 } = (await holdfast.read(id)) ?? {};
          assert.ok((first?.scheduled?.at ?? 0) > submittedAt, 'nothing is caught up with');
        }),
    );
  }
}
