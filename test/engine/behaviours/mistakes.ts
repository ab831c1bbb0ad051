// Bugs of Holdfast: something throws where nothing should. It costs one execution a hold with a
// reason, never the worker or the process.

import assert from 'node:assert/strict';
import { type Pipeline, pipeline } from '../../../src/engine/pipeline.ts';
import { type Clock, systemClock } from '../../../src/support/clock.ts';
import { systemTimers, type Timers } from '../../../src/support/timer.ts';
import { type Behaviour, door, type Stage } from '../stage.ts';

const LONG_MS = 50_000;

/** Heartbeats and results read the clock in callbacks too, and must not meet the failure instead. */
function isReadByRun(): boolean {
  return new Error('Here.').stack?.includes('/engine/run/') === true;
}

/** A clock that throws once, for a run of an execution that `isBroken` selects. */
function breaking(isBroken: (ms: number) => boolean): { clock: Clock; timers: Timers } {
  let isReadable = true;
  let failures = 0;
  const guarded = (ms: number, callback: () => void) => (): void => {
    isReadable = failures > 0 || !isBroken(ms);
    try {
      callback();
    } finally {
      isReadable = true;
    }
  };
  return {
    clock: {
      wallMs: systemClock.wallMs,
      monotonicMs: () => {
        if (isReadable || !isReadByRun()) return systemClock.monotonicMs();
        failures += 1;
        isReadable = true;
        throw new Error('No time.');
      },
    },
    timers: {
      ...systemTimers,
      // Shortens long waits, as the platform does.
      after: (ms, callback) => systemTimers.after(ms > LONG_MS ? 30 : ms, guarded(ms, callback)),
      soon: (callback) => systemTimers.soon(guarded(0, callback)),
    },
  };
}

async function assertBlocked(
  stage: Stage,
  broken: Pipeline<unknown, string>,
  isBroken: (ms: number) => boolean,
): Promise<void> {
  const holdfast = stage.holdfast({ ...breaking(isBroken), parkAfterMs: 1_000 });
  const well = pipeline({ name: 'well', run: (ctx) => ctx.step('work', () => 'done') });
  await stage.worker(holdfast, [broken, well]);
  const { id, result } = await holdfast.submit(broken, undefined, { deadlineMs: 60_000 });
  await stage.until(holdfast, id, ({ holds }) => holds.includes('blocked'));
  assert.match((await holdfast.history(id)).at(-1)?.body ?? '', /The engine failed: .*No time/);
  const other = await holdfast.submit(well, undefined);
  assert.equal(await other.result(), 'done', 'the worker goes on');
  await holdfast.resume(id);
  assert.equal(await result(), 'after all');
}

export const MISTAKES: readonly Behaviour[] = [
  {
    name: 'a bug of Holdfast while it parks an execution blocks only that execution',
    async run(stage) {
      const sleepy = pipeline({
        name: 'sleepy',
        async run(ctx) {
          await ctx.sleep(20);
          return 'after all';
        },
      });
      await assertBlocked(stage, sleepy, (ms) => ms === 0);
    },
  },
  {
    name: 'a bug of Holdfast at the end of a sleep blocks only that execution',
    async run(stage) {
      const sleepy = pipeline({
        name: 'sleepy',
        async run(ctx) {
          await ctx.sleep(400);
          return 'after all';
        },
      });
      await assertBlocked(stage, sleepy, (ms) => ms > 100 && ms < 500);
    },
  },
  {
    name: 'a bug of Holdfast before a retry blocks only that execution',
    async run(stage) {
      let tries = 0;
      const flaky = pipeline({
        name: 'flaky',
        run: (ctx) =>
          ctx.step(
            'work',
            () => {
              tries += 1;
              if (tries === 1) throw new Error('Once.');
              return 'after all';
            },
            { retry: { initialMs: 400, jitter: 0 } },
          ),
      });
      await assertBlocked(stage, flaky, (ms) => ms > 100 && ms < 500);
    },
  },
  {
    name: 'a bug of Holdfast at a deadline blocks only that execution',
    async run(stage) {
      const gate = door();
      let isFirst = true;
      const late = pipeline({
        name: 'late',
        run: (ctx) =>
          ctx.step('work', async () => {
            if (!isFirst) return 'after all';
            isFirst = false;
            await gate.passed;
            return 'too late';
          }),
      });
      await assertBlocked(stage, late, (ms) => ms > LONG_MS);
      gate.open();
    },
  },
  {
    name: 'the worker goes on, whatever a store throws at a claim',
    async run(stage) {
      const revoked = Proxy.revocable({}, {});
      revoked.revoke();
      const thrown = [Object.create(null), revoked.proxy];
      const odd = { claim: [...thrown], dueSchedules: [...thrown], expireAwaits: [...thrown] };
      const holdfast = stage.holdfastWith((executions) => {
        const failing =
          <Verb extends keyof typeof odd>(verb: Verb) =>
          (request: never) => {
            if (odd[verb].length > 0) throw odd[verb].shift();
            return executions[verb](request) as never;
          };
        return {
          claim: failing('claim'),
          dueSchedules: failing('dueSchedules'),
          expireAwaits: failing('expireAwaits'),
        };
      });
      const well = pipeline({ name: 'well', run: () => 'done' });
      await stage.worker(holdfast, [well]);
      const { result } = await holdfast.submit(well, undefined);
      assert.equal(await result(), 'done');
      assert.deepEqual(odd.claim, []);
    },
  },
];
