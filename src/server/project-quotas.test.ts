import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { parseProject } from '../execution/names.ts';
import type { CountedQuota } from '../features/access/model.ts';
import { openMemoryStore } from '../store/sqlite/open-memory.ts';
import { ProjectQuotas } from './project-quotas.ts';

const A = parseProject('a');
const OVER = { status: 429, code: 'over-quota' };

/** A store with `found` as its usage, and the number of counts. */
function counting(clock: ManualClock, tookMs = 0) {
  const { access } = openMemoryStore({ clock });
  const seen = { found: 0, reads: 0 };
  const usage: typeof access.usage = async () => {
    seen.reads += 1;
    const { found } = seen;
    await clock.advance(tookMs);
    return found;
  };
  return { seen, access: { ...access, usage } };
}

/** Writes something new; returns when `written` resolves. */
async function add(
  quotas: ProjectQuotas,
  quota: CountedQuota,
  { count = 1, project = A, written = async (): Promise<unknown> => undefined } = {},
): Promise<void> {
  await quotas.within({ project, quota, count, missing: async () => count }, written);
}

function passed(settled: readonly PromiseSettledResult<unknown>[]): number {
  return settled.filter(({ status }) => status === 'fulfilled').length;
}

test('P-14, P-16: additions count at once, ended ones with the next look, once a second', async () => {
  const clock = new ManualClock();
  const { seen, access } = counting(clock);
  const quotas = new ProjectQuotas(access, clock, { executions: 3 });
  seen.found = 1;
  await add(quotas, 'executions');
  await add(quotas, 'executions');
  await assert.rejects(add(quotas, 'executions'), OVER);
  seen.found = 2;
  await assert.rejects(add(quotas, 'executions'), OVER);
  assert.equal(seen.reads, 1);
  await clock.advance(1_000);
  await add(quotas, 'executions');
  await assert.rejects(add(quotas, 'executions'), OVER);
  assert.equal(seen.reads, 2);
});

test('P-14, P-16: a thousand at once share one look, and no more than the quota pass', async () => {
  const clock = new ManualClock();
  const { seen, access } = counting(clock);
  const quotas = new ProjectQuotas(access, clock, { sessions: 400 });
  const writes = Array.from({ length: 1_000 }, () => add(quotas, 'sessions'));
  assert.deepEqual([passed(await Promise.allSettled(writes)), seen.reads], [400, 1]);
});

test('P-14: writes that are under way during a look still count after it', async () => {
  const clock = new ManualClock();
  const { seen, access } = counting(clock);
  const quotas = new ProjectQuotas(access, clock, { executions: 3 });
  await add(quotas, 'executions', { written: async () => ({ kind: 'refused' }) });
  const { promise, resolve } = Promise.withResolvers<void>();
  const slow = [1, 2].map(() => add(quotas, 'executions', { written: () => promise }));
  seen.found = 1;
  await clock.advance(1_000);
  await assert.rejects(add(quotas, 'executions', { count: 2 }), OVER);
  assert.equal(seen.reads, 2);
  await assert.rejects(add(quotas, 'executions'), OVER);
  resolve();
  await Promise.all(slow);
  seen.found = 3;
  await clock.advance(1_000);
  await assert.rejects(add(quotas, 'executions'), OVER);
});

test('P-14: at a full quota a repeated write passes, and its additions count', async () => {
  const clock = new ManualClock();
  const { seen, access } = counting(clock);
  const quotas = new ProjectQuotas(access, clock, { bytes: 10 });
  seen.found = 8;
  const write = (missing: number, result: object = { kind: 'recorded' }) =>
    quotas.within(
      { project: A, quota: 'bytes', count: 5, missing: async () => missing },
      async () => result,
    );
  await write(0);
  await assert.rejects(write(3), OVER);
  await write(2);
  await assert.rejects(write(1), OVER);
  await write(0);
});

test('P-14: a write that adds nothing takes no room', async () => {
  const clock = new ManualClock();
  const quotas = new ProjectQuotas(counting(clock).access, clock, { executions: 1 });
  for (const result of [{ existing: true }, { replayed: true }, { kind: 'refused' }]) {
    await add(quotas, 'executions', { written: async () => result });
  }
  await add(quotas, 'executions');
  await assert.rejects(add(quotas, 'executions'), OVER);
});

test('P-14, P-16: coordinators together admit at most the quota once each, until they look again', async () => {
  const clock = new ManualClock();
  const { seen, access } = counting(clock);
  const written = async (): Promise<void> => {
    seen.found += 1;
  };
  const all = [1, 2, 3].map(() => new ProjectQuotas(access, clock, { executions: 10 }));
  const burst = async (): Promise<number> => {
    const writes = all.flatMap((each) =>
      Array.from({ length: 20 }, () => add(each, 'executions', { written })),
    );
    return passed(await Promise.allSettled(writes));
  };
  assert.equal(await burst(), 30);
  await clock.advance(1_000);
  assert.equal(await burst(), 0);
  seen.found = 0;
  await clock.advance(1_000);
  assert.equal(await burst(), 30);
});

test('P-14: looks use at most a hundredth of the time, and nothing waits for those in between', async () => {
  const clock = new ManualClock();
  const { seen, access } = counting(clock, 50);
  const quotas = new ProjectQuotas(access, clock);
  await add(quotas, 'bytes', { count: 10 });
  await clock.advance(4_999);
  await add(quotas, 'bytes', { count: 10 });
  assert.equal(seen.reads, 1);
  await clock.advance(1);
  await add(quotas, 'bytes', { count: 10 });
  assert.equal(seen.reads, 2);
});

test("P-14: a project's own quota counts for it alone, from the next look on", async () => {
  const clock = new ManualClock();
  const { access } = counting(clock);
  const quotas = new ProjectQuotas(access, clock, { sessions: 1 });
  await add(quotas, 'sessions');
  await assert.rejects(add(quotas, 'sessions'), OVER);
  await access.putProject({ name: A, settings: { quotas: { sessions: 2 } } });
  await clock.advance(1_000);
  await add(quotas, 'sessions', { count: 2 });
  await assert.rejects(add(quotas, 'sessions'), {
    message:
      'Project "a" may have at most 2 live sessions. Nothing was written. Stop some workers, or raise the quota: holdfast projects put a --quota sessions=<number>, or quotas.sessions for all projects.',
  });
  await add(quotas, 'sessions', { project: parseProject('b') });
});
