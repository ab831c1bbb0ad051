import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FaultyStore, faultyStore, ManualClock } from '../../contract/index.ts';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';

const MINUTE_MS = 60_000;

interface Scene {
  readonly clock: ManualClock;
  readonly faults: FaultyStore<CoordinatorStore>;
  open(): Holdfast;
}

async function withScene(run: (scene: Scene) => Promise<void>): Promise<void> {
  const clock = new ManualClock();
  const memory = openMemoryStore({ clock });
  const faults = faultyStore<CoordinatorStore>(memory);
  const opened: Holdfast[] = [];
  const open = (): Holdfast => {
    const holdfast = new Holdfast({ store: faults.store, clock, timers: clock.timers });
    opened.push(holdfast);
    return holdfast;
  };
  try {
    await run({ clock, faults, open });
  } finally {
    await Promise.all(opened.map((each) => each.close()));
    await memory.close();
  }
}

function asking(remindAfterMs: number) {
  return pipeline({
    name: 'asking',
    run: (ctx) => ctx.await('it', { reminders: [{ afterMs: remindAfterMs, pipeline: 'remind' }] }),
  });
}

const remind = pipeline({ name: 'remind', run: () => 'reminded' });

test('an idle worker looks for due awaits once a minute', async () => {
  await withScene(async ({ clock, faults, open }) => {
    await open().worker({ pipelines: [remind] });
    await clock.advance(10 * MINUTE_MS);
    const reads = faults.calls.get('executions.expireAwaits') ?? 0;
    assert.ok(reads >= 8 && reads <= 11, `it looked ${reads} times in ten minutes`);
  });
});

test('a reminder starts at its time, also one of another process, without a query before', async () => {
  await withScene(async ({ clock, faults, open }) => {
    const mine = asking(10 * MINUTE_MS);
    const worker = await open().worker({ pipelines: [mine] });
    const holdfast = open();
    const { id } = await holdfast.submit(mine, undefined);
    await clock.advance(1_000);
    assert.equal((await holdfast.read(id))?.status, 'waiting');
    // The process that starts the reminder was not there when the execution asked.
    await worker.stop();
    await open().worker({ pipelines: [remind] });
    await clock.advance(10 * MINUTE_MS - 2_000);
    const started = async (): Promise<number> =>
      (await holdfast.list({ pipeline: 'remind' })).items.length;
    assert.equal(await started(), 0);
    const before = faults.calls.get('executions.expireAwaits') ?? 0;
    await clock.advance(1_200);
    assert.equal(await started(), 1);
    const after = faults.calls.get('executions.expireAwaits') ?? 0;
    assert.ok(after - before <= 3, `it asked ${after - before} times`);
  });
});

test('an error with awaits keeps a worker from nothing else, and passes', async () => {
  await withScene(async ({ clock, faults, open }) => {
    faults.failBy((verb) => (verb === 'executions.expireAwaits' ? 'unavailable' : undefined));
    const holdfast = open();
    const mine = asking(1_000);
    await holdfast.worker({ pipelines: [mine, remind] });
    const { id } = await holdfast.submit(mine, undefined);
    const other = await holdfast.submit(remind, undefined);
    await clock.advance(5_000);
    assert.equal(await other.result(), 'reminded');
    faults.heal();
    await clock.advance(10_000);
    const { items } = await holdfast.list({ attribute: { name: 'reminder', equals: id } });
    assert.deepEqual(
      items.map(({ status }) => status),
      ['completed'],
    );
  });
});
