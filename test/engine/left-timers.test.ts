// A worker that dies while the store works on its request. The late answer must set no timer.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { type Pipeline, pipeline } from '../../src/engine/pipeline.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { door, turns } from './stage.ts';

const DAY_MS = 86_400_000;

const CODES: readonly Pipeline<undefined, unknown>[] = [
  pipeline({ name: 'sleeps', run: (ctx) => ctx.sleep(DAY_MS) }),
  pipeline({ name: 'awaits', run: (ctx) => ctx.await('it', { timeoutMs: DAY_MS }) }),
  pipeline({
    name: 'retries',
    run: (ctx) =>
      ctx.step('fail', () => Promise.reject(new Error('not yet')), {
        retry: { initialMs: DAY_MS / 2, maxMs: DAY_MS },
      }),
  }),
];

type Verb = 'claim' | 'record' | 'park';

/** The number of timers after everything has settled. */
async function timersLeft(
  code: Pipeline<undefined, unknown>,
  verb: Verb | 'none',
): Promise<number> {
  const clock = new ManualClock();
  const opened = openMemoryStore({ clock });
  const { executions } = opened;
  const held = door();
  const slow = async (request: never): Promise<unknown> => {
    const answer = await executions[verb as Verb](request);
    await held.passed;
    return answer;
  };
  const store = { ...opened, executions: { ...executions, [verb]: slow } };
  const holdfast = new Holdfast({ store, clock, timers: clock.timers });
  if (verb !== 'none') await holdfast.submit(code, undefined, { deadlineMs: 3 * DAY_MS });
  const worker = await holdfast.worker({ pipelines: [code], ttlMs: DAY_MS });
  await clock.settle();
  worker.crash();
  await clock.settle();
  held.open();
  await clock.settle();
  const { waiting } = clock;
  await holdfast.close();
  await opened.close();
  return waiting;
}

for (const code of CODES) {
  for (const verb of ['claim', 'record', 'park'] as const) {
    test(`an execution that ${code.name} leaves no timer when its worker dies in the middle of a ${verb}`, async () => {
      // A session that was not ended has its own timers.
      assert.equal(await timersLeft(code, verb), await timersLeft(code, 'none'));
    });
  }
}

test('a worker does not run an execution that it claimed after it had died', async () => {
  const opened = openMemoryStore();
  const { executions } = opened;
  const held = door();
  const asked = door();
  const claim: typeof executions.claim = async (request) => {
    const answer = await executions.claim(request);
    asked.open();
    await held.passed;
    return answer;
  };
  const store = { ...opened, executions: { ...executions, claim } };
  const holdfast = new Holdfast({ store });
  let runs = 0;
  const counted = pipeline({
    name: 'counted',
    run: () => {
      runs += 1;
    },
  });
  await holdfast.submit(counted, undefined);
  const worker = await holdfast.worker({ pipelines: [counted] });
  await asked.passed;
  worker.crash();
  held.open();
  await turns();
  assert.equal(runs, 0);
  await holdfast.close();
  await opened.close();
});
