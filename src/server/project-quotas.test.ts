import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseProject } from '../execution/names.ts';
import { openMemoryStore } from '../store/sqlite/open-memory.ts';
import { ManualClock } from '../testing/manual-clock.ts';
import { ProjectQuotas } from './project-quotas.ts';

const A = parseProject('a');
const OVER = { status: 429, code: 'over-quota' };

/** A store in which `found` is used, and how often it was looked at. */
function counting(clock: ManualClock, tookMs = 0) {
  const { access } = openMemoryStore({ clock });
  const seen = { found: 0, looks: 0 };
  const usage: typeof access.usage = async () => {
    seen.looks += 1;
    await clock.advance(tookMs);
    return seen.found;
  };
  return { seen, access: { ...access, usage } };
}

test('P-14: what is taken counts at once, what has ended with the next look, once a second', async () => {
  const clock = new ManualClock();
  const { seen, access } = counting(clock);
  const quotas = new ProjectQuotas(access, clock, { executions: 3 });
  seen.found = 1;
  await quotas.take(A, 'executions');
  await quotas.take(A, 'executions');
  await assert.rejects(quotas.take(A, 'executions'), OVER);
  seen.found = 2;
  await assert.rejects(quotas.take(A, 'executions'), OVER);
  assert.equal(seen.looks, 1);
  await clock.advance(1_000);
  await quotas.take(A, 'executions');
  await assert.rejects(quotas.take(A, 'executions'), OVER);
  assert.equal(seen.looks, 2);
});

test('P-14: a thousand at once share one look, and no more than the quota pass', async () => {
  const clock = new ManualClock();
  const { seen, access } = counting(clock);
  const quotas = new ProjectQuotas(access, clock, { schedules: 400 });
  const takes = Array.from({ length: 1_000 }, () => quotas.take(A, 'schedules'));
  const passed = (await Promise.allSettled(takes)).filter(({ status }) => status === 'fulfilled');
  assert.deepEqual([passed.length, seen.looks], [400, 1]);
});

test('P-14: looks use at most a hundredth of the time, and nothing waits for those in between', async () => {
  const clock = new ManualClock();
  const { seen, access } = counting(clock, 50);
  const quotas = new ProjectQuotas(access, clock);
  await quotas.take(A, 'bytes', 10);
  await clock.advance(4_999);
  await quotas.take(A, 'bytes', 10);
  assert.equal(seen.looks, 1);
  await clock.advance(1);
  await quotas.take(A, 'bytes', 10);
  assert.equal(seen.looks, 2);
});

test("P-14: a project's own quota counts for it alone, from the next look on", async () => {
  const clock = new ManualClock();
  const { access } = counting(clock);
  const quotas = new ProjectQuotas(access, clock, { keys: 1 });
  await quotas.take(A, 'keys');
  await assert.rejects(quotas.take(A, 'keys'), OVER);
  await access.putProject({ name: A, settings: { quotas: { keys: 2 } } });
  await clock.advance(1_000);
  await quotas.take(A, 'keys', 2);
  await assert.rejects(quotas.take(A, 'keys'), {
    message:
      'Project "a" may have 2 usable keys, and this would be more. Nothing was written. Revoke some, or let an operator raise the quota: holdfast projects put a --quota keys=<number>, or quotas.keys for all projects.',
  });
  await quotas.take(parseProject('b'), 'keys');
});
