// Bulk jobs of a project take its share of the coordinator, and one of them works at a time (P-18).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { systemClock } from '../../src/support/clock.ts';
import { systemTimers } from '../../src/support/timer.ts';
import { TestCoordinator, until } from './coordinator.ts';
import { RawWorker } from './raw-worker.ts';

const SHARE = 8;
const JOBS = 3;
const ITEMS = 30;

/** A coordinator whose next turn of shares comes when the test allows it. */
class Stand {
  /** Cancels by a job that reached the store. */
  cancels = 0;
  /** The most cancels, and the most jobs with one, that were in progress at once. */
  cancelsMax = 0;
  jobsMax = 0;
  isHeld = false;
  readonly #inProgress: string[] = [];
  readonly #held: (() => void)[] = [];

  open(): Promise<TestCoordinator> {
    const timers = {
      ...systemTimers,
      soon: (callback: () => void) =>
        this.isHeld ? void this.#held.push(callback) : systemTimers.soon(callback),
      // Turns last a millisecond; no other timer is that short.
      after: (ms: number, callback: () => void) => {
        if (ms > 1 || !this.isHeld) return systemTimers.after(ms, callback);
        this.#held.push(callback);
        return () => undefined;
      },
    };
    // Time passes slowly, so no project falls silent on a busy machine.
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() / 5 };
    const store = openMemoryStore();
    const { executions } = store;
    const cancel: typeof executions.cancel = async (request) => {
      if (request.job === undefined) return executions.cancel(request);
      this.cancels += 1;
      this.#inProgress.push(request.job);
      this.cancelsMax = Math.max(this.cancelsMax, this.#inProgress.length);
      this.jobsMax = Math.max(this.jobsMax, new Set(this.#inProgress).size);
      try {
        return await executions.cancel(request);
      } finally {
        this.#inProgress.splice(this.#inProgress.indexOf(request.job), 1);
      }
    };
    const counting = { ...store, executions: { ...executions, cancel } };
    return TestCoordinator.open({ store: counting, timers, clock });
  }

  /** A coordinator that closes waits for its jobs. */
  [Symbol.dispose](): void {
    this.isHeld = false;
    this.nextTurn();
  }

  nextTurn(): void {
    for (const callback of this.#held.splice(0)) callback();
  }
}

const beat = (who: RawWorker) =>
  who.call('POST', `/v1/work/sessions/${who.session}/heartbeat`, { owner: who.project });

test('P-18: the items of bulk jobs take the share of their project, and two run at once', async () => {
  const stand = new Stand();
  await using coordinator = await stand.open();
  using _ = stand;
  const hostile = await RawWorker.open(coordinator, 'hostile');
  const healthy = await RawWorker.open(coordinator, 'healthy');
  for (let nth = 0; nth < ITEMS; nth += 1) {
    await hostile.call('POST', '/v1/executions', { pipeline: 'x' });
  }
  stand.isHeld = true;
  const takeTurn = async (): Promise<void> => {
    const before = stand.cancels;
    stand.nextTurn();
    for (let nth = 0; nth < 2; nth += 1) assert.equal((await beat(healthy)).status, 200);
    assert.ok(stand.cancels - before <= SHARE, `${stand.cancels - before} cancels in one turn`);
  };
  const jobs: string[] = [];
  const requests = Array.from({ length: JOBS }, async () => {
    const job = { reason: 'r', filter: { pipeline: 'x' } };
    const { status, json } = await hostile.call('POST', '/v1/jobs/cancel', job);
    assert.equal(status, 202);
    jobs.push(json.id);
  });
  while (jobs.length < JOBS || stand.cancels < ITEMS) await takeTurn();
  await Promise.all(requests);
  stand[Symbol.dispose]();
  for (const job of jobs) {
    await until(async () => {
      const { json } = await hostile.call('GET', `/v1/jobs/${job}`);
      return json.status === 'completed' || undefined;
    });
  }
  assert.equal(stand.cancels, ITEMS, 'the other jobs found nothing left to cancel');
  assert.equal(stand.cancelsMax, 2);
  assert.equal(stand.jobsMax, 1);
});

test('P-18: a list of jobs reads the ends of all of them at once', async () => {
  const plain = openMemoryStore();
  const asked: number[] = [];
  const outcomes: typeof plain.executions.outcomes = (ids) => {
    asked.push(ids.length);
    return plain.executions.outcomes(ids);
  };
  const store = { ...plain, executions: { ...plain.executions, outcomes } };
  await using coordinator = await TestCoordinator.open({ store, maintenance: false });
  const worker = await RawWorker.open(coordinator, 'ours');
  for (let nth = 0; nth < 20; nth += 1) {
    await worker.call('POST', '/v1/jobs/cancel', { reason: `r${nth}`, filter: {} });
  }
  const { json } = await worker.call('GET', '/v1/jobs?limit=1000');
  assert.equal(json.items.length, 20);
  assert.deepEqual(asked, [20]);
});
