import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../contract/testing/manual-clock.ts';
import type { ExecutionId, ProjectName } from '../../execution/names.ts';
import { toFence } from '../../lease/fence.ts';
import type { Owner, SessionId } from '../../lease/names.ts';
import type { CoordinatorStore } from '../../store/contract/execution-store.ts';
import { OutcomeUnknown, StoreUnavailable } from '../../support/fault.ts';
import { REFUSED_WRITES_MAX, type RefusedWrites } from './model.ts';
import { RefusalTally } from './tally-api.ts';

interface TestTally {
  readonly tally: RefusalTally;
  readonly clock: ManualClock;
  readonly batches: (readonly RefusedWrites[])[];
}

function openTally(take: () => Promise<void> = async () => undefined): TestTally {
  const clock = new ManualClock();
  const batches: (readonly RefusedWrites[])[] = [];
  const noteRefusals = async (batch: readonly RefusedWrites[]): Promise<void> => {
    await take();
    batches.push(batch);
  };
  const store = { executions: { noteRefusals } } as unknown as CoordinatorStore;
  return { tally: new RefusalTally(store, clock.timers, clock), clock, batches };
}

function refuse(tally: RefusalTally, n: number, verb: RefusedWrites['verb'] = 'record'): void {
  tally.note({
    ...{ verb, why: 'claim-ended', fence: toFence(2 ** 40 + 1) },
    execution: `execution ${n}` as ExecutionId,
    project: 'default' as ProjectName,
    session: 's' as SessionId,
    owner: 'w' as Owner,
    transport: 'embedded',
  });
}

test('J-11: refusals are stored once, a second later, and then no timer is left', async () => {
  const { tally, clock, batches } = openTally();
  assert.equal(clock.waiting, 0);
  refuse(tally, 1);
  await clock.advance(400);
  refuse(tally, 1);
  refuse(tally, 1, 'finish');
  assert.equal(clock.waiting, 1);
  await clock.advance(599);
  assert.equal(batches.length, 0);
  await clock.advance(1);
  assert.deepEqual(
    batches[0]?.map(({ verb, count, firstAgoMs, lastAgoMs }) => [
      verb,
      count,
      firstAgoMs,
      lastAgoMs,
    ]),
    [
      ['record', 2, 1_000, 600],
      ['finish', 1, 600, 600],
    ],
  );
  assert.equal(clock.waiting, 0);
  await clock.advance(60_000);
  assert.equal(batches.length, 1);
});

test('J-11, J-12: 100,000 refusals of 20,000 executions are at most 10,000 rows, stored 500 a second', async () => {
  const { tally, clock, batches } = openTally();
  for (let n = 0; n < 100_000; n += 1) refuse(tally, n % 20_000);
  assert.equal(tally.waiting, REFUSED_WRITES_MAX);
  await clock.advance(3_000);
  assert.deepEqual(
    batches.map(({ length }) => length),
    [500, 500, 500],
  );
  await tally.close();
  assert.equal(batches.flat().length, REFUSED_WRITES_MAX);
  assert.equal(batches.at(-1)?.at(-1)?.execution, 'execution 19999');
  assert.equal(clock.waiting, 0);
});

test('J-11, J-14: counts that the store refused go with the next batch; counts that it may have stored do not', async () => {
  const faults = [new StoreUnavailable('away'), undefined, new OutcomeUnknown('lost')];
  const { tally, clock, batches } = openTally(async () => {
    const fault = faults.shift();
    if (fault !== undefined) throw fault;
  });
  refuse(tally, 1);
  await clock.advance(1_000);
  refuse(tally, 1);
  await clock.advance(1_000);
  assert.deepEqual(
    batches.flat().map(({ count, firstAgoMs, lastAgoMs }) => [count, firstAgoMs, lastAgoMs]),
    [[2, 2_000, 1_000]],
  );
  refuse(tally, 2);
  await clock.advance(60_000);
  assert.equal(batches.length, 1);
  assert.equal(clock.waiting, 0);
});

test('J-11: close stores the rest, does not wait for ever, and counts nothing more', async () => {
  const { tally, clock, batches } = openTally();
  refuse(tally, 1);
  await tally.close();
  assert.equal(batches.length, 1);
  refuse(tally, 2);
  assert.equal(tally.waiting, 0);
  assert.equal(clock.waiting, 0);
  const hung = openTally(() => new Promise(() => undefined));
  refuse(hung.tally, 1);
  const closed = hung.tally.close();
  await hung.clock.advance(2_000);
  await closed;
});
