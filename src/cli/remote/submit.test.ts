import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../contract/testing/manual-clock.ts';
import type { Explanation } from '../../execution/explain.ts';
import { printWaiting } from './submit.ts';

const RUNS: Explanation = { code: 'running', sentence: 'It runs at ann.' };
const WAITS: Explanation = {
  code: 'waiting-for-answer',
  sentence: 'It waits for the answer to "ok".',
  advice: 'Answer it.',
};

test('submit --wait prints each reason for waiting once, and nothing at the end', async () => {
  const clock = new ManualClock();
  const over = new AbortController();
  const printed: string[] = [];
  let explained: Explanation | Error = RUNS;
  let polls = 0;
  const explain = async (): Promise<never> => {
    polls += 1;
    if (explained instanceof Error) throw explained;
    return explained as never;
  };
  const parts = { executions: { explain }, timers: clock.timers, over: over.signal };
  const printing = printWaiting({ ...parts, print: (line) => printed.push(line) }, 'the-id');
  await clock.advance(4_999);
  assert.deepEqual([polls, printed], [0, []]);
  await clock.advance(1);
  const hint = 'Ctrl-C only stops waiting. To cancel the execution, run "holdfast cancel the-id".';
  assert.deepEqual(printed, ['It runs at ann.', hint]);
  await clock.advance(10_000 + 20_000);
  assert.deepEqual([polls, printed.length], [3, 2]);
  explained = new Error('away');
  await clock.advance(40_000);
  explained = WAITS;
  await clock.advance(60_000);
  assert.deepEqual(printed.slice(2), ['It waits for the answer to "ok". Answer it.']);
  explained = { code: 'ended', sentence: 'It is completed.' };
  await clock.advance(60_000);
  assert.equal(printed.length, 3);
  over.abort();
  await printing;
  assert.equal(clock.waiting, 0);
});
