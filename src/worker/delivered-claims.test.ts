import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import type { Fence } from '../lease/fence.ts';
import type { SessionId } from '../lease/names.ts';
import type { Claim, Claimed, ClaimResult } from '../store/contract/execution-store.ts';
import { OutcomeUnknown } from '../support/fault.ts';
import { DeliveredClaims } from './delivered-claims.ts';

const SESSION = 's1' as SessionId;
const request = { session: SESSION, pipelines: [], shares: [] } as Claim;

function claimed(fence: number): Claimed {
  return { fence: fence as Fence, previous: 'none' } as Claimed;
}

function result(...fences: readonly number[]): ClaimResult {
  return { kind: 'claimed', claims: fences.map(claimed), more: false, overdue: false };
}

function fencesOf(got: ClaimResult): readonly number[] {
  return got.kind === 'claimed' ? got.claims.map(({ fence }) => fence) : [];
}

function stand(transport: { readonly doubles?: boolean } = {}): {
  readonly delivered: DeliveredClaims;
  readonly store: { carries: number[]; next: ClaimResult | Error; asked: number };
  readonly clock: ManualClock;
} {
  const store = { carries: [] as number[], next: result() as ClaimResult | Error, asked: 0 };
  const clock = new ManualClock();
  const delivered = new DeliveredClaims(
    {
      async claim() {
        if (store.next instanceof Error) throw store.next;
        return store.next;
      },
      async carried() {
        store.asked += 1;
        return store.carries.map(claimed);
      },
    },
    clock,
    transport,
  );
  return { delivered, store, clock };
}

test('a claim whose answer was lost is returned with the next one, once, and known claims are not', async () => {
  const { delivered, store } = stand();
  store.next = result(1, 2);
  await delivered.claim(request);
  store.next = new OutcomeUnknown('killed');
  await assert.rejects(delivered.claim(request));
  store.carries = [1, 2, 3];
  store.next = result();
  assert.deepEqual(fencesOf(await delivered.claim(request)), [3]);
  assert.deepEqual(fencesOf(await delivered.claim(request)), []);
});

test('X-25: a claim that the worker has found already is not returned again', async () => {
  const { delivered, store } = stand();
  store.next = new OutcomeUnknown('the coordinator is unsure too');
  await assert.rejects(delivered.claim(request));
  store.carries = [1];
  assert.deepEqual(fencesOf(await delivered.claim(request)), [1]);
  // The coordinator's own store returns the claim that it was unsure of.
  store.next = result(1, 2);
  assert.deepEqual(fencesOf(await delivered.claim(request)), [2]);
});

/** The reply to a claim was lost, and the next claim lists what the worker carries. */
async function listing() {
  const { delivered, store } = stand();
  store.next = result(1);
  await delivered.claim(request);
  store.next = new OutcomeUnknown('killed');
  await assert.rejects(delivered.claim(request));
  store.next = result();
  store.carries = [1];
  const claiming = delivered.claim(request);
  return { delivered, claiming };
}

test('an execution that is let go while the answer is on its way is not taken for lost', async () => {
  const { delivered, claiming } = await listing();
  delivered.remove(1 as Fence);
  assert.deepEqual(fencesOf(await claiming), []);
});

test('X-25: an execution that is let go at any moment of a list is not taken for lost', async () => {
  for (let turns = 0; turns < 12; turns += 1) {
    const { delivered, claiming } = await listing();
    // Both replies may be in one frame of a stream. Their readers then take turns.
    for (let turn = 0; turn < turns; turn += 1) await undefined;
    delivered.remove(1 as Fence);
    assert.deepEqual(fencesOf(await claiming), [], `after ${turns} turns`);
  }
});

test('without a loss no list is requested; after one, for a minute; a new session starts afresh', async () => {
  const { delivered, store, clock } = stand();
  await delivered.claim(request);
  assert.equal(store.asked, 0);
  store.next = new OutcomeUnknown('killed');
  await assert.rejects(delivered.claim(request));
  store.next = result();
  await delivered.claim(request);
  await clock.advance(61_000);
  await delivered.claim(request);
  assert.equal(store.asked, 1);
  store.next = new OutcomeUnknown('killed');
  await assert.rejects(delivered.claim(request));
  store.next = result();
  await delivered.claim({ ...request, session: 's2' as SessionId });
  assert.equal(store.asked, 1);
});

test('M-1: if messages come twice, the executions of the second claim are found within a second', async () => {
  const { delivered, store, clock } = stand({ doubles: true });
  store.next = result(2);
  await delivered.claim(request);
  store.carries = [1, 2];
  store.next = result();
  assert.deepEqual(fencesOf(await delivered.claim(request)), []);
  await clock.advance(1_000);
  assert.deepEqual(fencesOf(await delivered.claim(request)), [1]);
  assert.deepEqual(fencesOf(await delivered.claim(request)), []);
});
