// Push endpoints. The coordinator accepts a reply that is signed, valid, and about the claim of its
// call. Any other reply changes nothing, and the next call has a higher fence.

import assert from 'node:assert/strict';
import type { ExecutionId } from '../../src/execution/names.ts';
import type { PushResult } from '../../src/protocol/messages/push.ts';
import { digestOf } from '../../src/support/digest.ts';
import { systemTimers } from '../../src/support/timer.ts';
import {
  finishing,
  heldOf,
  kindsOf,
  later,
  mustSubmit,
  OTHER_PROJECT,
  parking,
  signalling,
  statusOf,
  step,
  submitting,
  writing,
} from '../execution/worker.ts';
import type { TransportCase, TransportHarness } from './contract-case.ts';
import type { FakeEndpoint, ForgedReply, OpenCall } from './fake-endpoint.ts';

interface Called {
  readonly endpoint: FakeEndpoint;
  readonly call: OpenCall;
  readonly id: ExecutionId;
  /** The reply of an owner that has finished. */
  readonly finished: Partial<PushResult>;
}

async function called(harness: TransportHarness): Promise<Called> {
  const { endpoint } = harness;
  assert.ok(endpoint !== undefined, 'a fake endpoint');
  const id = await mustSubmit(harness.store);
  const call = await endpoint.next();
  return { endpoint, call, id, finished: finishedOf(call) };
}

function heldBy({ drive }: OpenCall): ReturnType<typeof heldOf> {
  return heldOf(drive.claimed as never, { id: drive.session as never });
}

function finishedOf(call: OpenCall): Partial<PushResult> {
  const finish = { verb: 'finish', ...finishing(heldBy(call)) };
  return { ...call.about, writes: [finish] as never };
}

/**
 * After `failed` failed calls in a row, nothing was written, the coordinator calls again in time,
 * and that reply counts.
 */
async function calledAgain(
  harness: TransportHarness,
  { endpoint, call, id }: Called,
  failed: number = 1,
): Promise<void> {
  const again = await endpoint.next();
  assert.ok((again.about.fence ?? 0) > (call.about.fence ?? 0), 'a higher fence');
  await onlyFailedCalls(harness, id, failed);
  again.reply(new Response(endpoint.signed(finishedOf(again))));
  await ended(harness, id);
}

const FIRST_RETRY_MS = 1_000;

/**
 * Each failed call was given back as one whose steps may have run, cost no claim, and was repeated
 * later (M-16).
 */
async function onlyFailedCalls(
  { store }: TransportHarness,
  id: ExecutionId,
  failed: number,
): Promise<void> {
  const [submitted, first, ...rest] = await store.executions.history({ id, after: 0, limit: 100 });
  assert.deepEqual([submitted?.kind, first?.kind], ['submitted', 'claimed']);
  assert.equal(rest.length, 2 * failed);
  for (let nth = 0; nth < failed; nth += 1) {
    const [left, claimed] = rest.slice(2 * nth);
    assert.deepEqual([left?.kind, claimed?.kind], ['given-back', 'claimed']);
    const { why, abandoned } = JSON.parse(left?.body ?? '{}');
    assert.deepEqual([why, abandoned], ['call-failed', true]);
    assert.equal(JSON.parse(claimed?.body ?? '{}').previous, 'given-back');
    const waitedMs = (claimed?.at ?? 0) - (left?.at ?? 0);
    assert.ok(waitedMs >= FIRST_RETRY_MS * 2 ** nth, `called again after ${waitedMs} ms`);
  }
  assert.equal((await store.executions.read(id))?.claimsWithoutProgress, 0);
}

const POLL_MS = 10;
const POLLS_MAX = 1_000;

async function ended(harness: TransportHarness, id: ExecutionId): Promise<void> {
  for (let polls = 0; polls < POLLS_MAX; polls += 1) {
    if ((await statusOf(harness.store, id)) === 'completed') return;
    await systemTimers.pause(POLL_MS);
  }
  assert.fail(`${id} has not ended: ${await kindsOf(harness.store, id)}`);
}

function rejectsReply(how: ForgedReply, what: string): TransportCase {
  return {
    upholds: 'M-8, M-13',
    name: `an answer ${what} is ignored: nothing is written, and the next call has a higher fence`,
    needs: 'calls',
    async run(harness) {
      const given = await called(harness);
      given.call.reply(new Response(given.endpoint.signed(given.finished, how)));
      await calledAgain(harness, given);
    },
  };
}

function acceptsReply(how: ForgedReply, what: string): TransportCase {
  return {
    upholds: 'M-13',
    name: `an answer ${what} is applied`,
    needs: 'calls',
    async run(harness) {
      const { endpoint, call, id, finished } = await called(harness);
      call.reply(new Response(endpoint.signed(finished, how)));
      await ended(harness, id);
    },
  };
}

/** A reply with a valid signature that the coordinator must not apply. */
function refused(
  upholds: string,
  what: string,
  responseOf: (given: Called) => Record<string, unknown>,
): TransportCase {
  return {
    upholds,
    name: `an answer ${what} is refused whole, and the next call has a higher fence`,
    needs: 'calls',
    async run(harness) {
      const given = await called(harness);
      given.call.reply(new Response(given.endpoint.signed(responseOf(given))));
      await calledAgain(harness, given);
    },
  };
}

function turnedAway(what: string, responseOf: (given: Called) => Response): TransportCase {
  return {
    upholds: 'M-16',
    name: `a call that the endpoint turns away ${what} is given back and costs no attempt`,
    needs: 'calls',
    async run(harness) {
      const given = await called(harness);
      given.call.reply(responseOf(given));
      const again = await given.endpoint.next();
      const kinds = await kindsOf(harness.store, given.id);
      assert.deepEqual(kinds, ['submitted', 'claimed', 'given-back', 'claimed']);
      assert.equal((await harness.store.executions.read(given.id))?.claimsWithoutProgress, 0);
      again.reply(new Response(given.endpoint.signed(finishedOf(again))));
      await ended(harness, given.id);
    },
  };
}

/** Events during a call. */
const between: readonly TransportCase[] = [
  {
    upholds: 'M-3, M-13',
    name: 'a replayed answer to an earlier call is ignored',
    needs: 'calls',
    async run(harness) {
      const { endpoint, call, id, finished } = await called(harness);
      const played = endpoint.signed(finished);
      call.reply(new Response(endpoint.signed(finished, 'tampered')));
      const again = await endpoint.next();
      again.reply(new Response(played));
      await calledAgain(harness, { endpoint, call: again, id, finished }, 2);
    },
  },
  {
    upholds: 'M-3, M-15',
    name: 'an answer that comes after its claim was lost is refused by its fence',
    needs: 'calls',
    async run(harness) {
      const { endpoint, call, id, finished } = await called(harness);
      const by = { kind: 'operator', actor: 'olga', reason: 'too slow' } as const;
      await harness.store.sessions.end({ id: call.drive.session as never, by });
      const again = await endpoint.next();
      call.reply(new Response(endpoint.signed(finished)));
      again.reply(new Response(endpoint.signed(finishedOf(again))));
      await ended(harness, id);
      const events = await harness.store.executions.history({ id, after: 0, limit: 9 });
      assert.equal(events.at(-1)?.fence, again.about.fence);
    },
  },
  {
    upholds: 'M-8, M-15, M-26',
    name: 'a call without an answer in time is over, and the next one has a higher fence',
    needs: 'calls',
    async run(harness) {
      await calledAgain(harness, await called(harness));
    },
  },
  {
    upholds: 'M-15, M-27',
    name: 'a redirect is not followed and does not count as an answer',
    needs: 'calls',
    async run(harness) {
      const given = await called(harness);
      const headers = { location: 'http://169.254.169.254/' };
      given.call.reply(new Response('', { status: 307, headers }));
      await calledAgain(harness, given);
    },
  },
  {
    upholds: 'M-1, M-15',
    name: 'a write over the coordinator connection is kept, and the answer continues after it',
    needs: 'calls',
    async run(harness) {
      const given = await called(harness);
      const { endpoint, call, id } = given;
      const record = { verb: 'record', ...writing(heldBy(call)) };
      const transport = await harness.transport();
      await transport.request({ kind: 'writeAsOwner', body: { writes: [record] } });
      const finish = { verb: 'finish', ...finishing(later(heldBy(call))) };
      call.reply(new Response(endpoint.signed({ ...call.about, writes: [finish] as never })));
      await ended(harness, id);
      assert.equal((await kindsOf(harness.store, id)).length, 4);
    },
  },
  {
    upholds: 'M-9',
    name: 'a signal during a call is not missed: the endpoint is called again with it',
    needs: 'calls',
    async run(harness) {
      const { endpoint, call, id } = await called(harness);
      await harness.store.executions.signal(signalling(id));
      const writes = [{ verb: 'park', ...parking(heldBy(call)) }] as never;
      call.reply(new Response(endpoint.signed({ ...call.about, writes })));
      const again = await endpoint.next();
      assert.deepEqual(
        again.drive.inbox.map(({ kind }) => kind),
        ['signal'],
      );
      again.reply(new Response(endpoint.signed(finishedOf(again))));
      await ended(harness, id);
    },
  },
  {
    upholds: 'M-10',
    name: 'concurrent calls are answered independently, in any order',
    needs: 'calls',
    async run(harness) {
      const { endpoint, call, id } = await called(harness);
      const other = await called(harness);
      other.call.reply(new Response(endpoint.signed(other.finished)));
      await ended(harness, other.id);
      assert.equal(await statusOf(harness.store, id), 'running');
      call.reply(new Response(endpoint.signed(finishedOf(call))));
      await ended(harness, id);
    },
  },
];

const OTHER_ID = '01900000-0000-7000-8000-ffffffffffff';

export const callCases: readonly TransportCase[] = [
  rejectsReply('unsigned', 'that is not signed'),
  rejectsReply('tampered', 'that was changed after it was signed'),
  rejectsReply('of-another-key', 'that was signed with another secret under a known key id'),
  rejectsReply('of-an-unknown-key', 'that was signed with an unknown key'),
  rejectsReply('turned-around', 'that was signed for a worker'),
  rejectsReply('expired', 'whose signature has expired'),
  acceptsReply('of-an-older-key', 'signed with a retired key that is still accepted'),
  acceptsReply('waited-long', 'that waited long and whose signature is still valid'),
  refused('M-5', 'with an unknown field', ({ finished }) => ({ ...finished, nice: 1 })),
  refused('M-3', 'about another fence', ({ finished, call }) => ({
    ...finished,
    fence: (call.about.fence ?? 0) + 1,
  })),
  refused('M-4, M-18', 'that writes to another execution', ({ call }) => {
    const finish = { ...finishing(heldBy(call)), id: OTHER_ID };
    return { ...call.about, writes: [{ verb: 'finish', ...finish }] };
  }),
  refused('M-6', 'whose value does not match its digest', ({ finished }) => ({
    ...finished,
    blobs: [{ digest: digestOf(new Uint8Array([1])), bytes: 'Ag==' }],
  })),
  refused('M-4, M-18', 'that submits into another project', ({ call }) => {
    const child = { ...submitting({ project: OTHER_PROJECT }), parent: undefined };
    const write = { verb: 'record', ...writing(heldBy(call)), children: [child] };
    return { ...call.about, writes: [write] };
  }),
  refused('M-7', 'that is too large', ({ call }) => {
    const large = step('large', 'x'.repeat(5_000_000));
    return { ...call.about, writes: [{ verb: 'record', ...writing(heldBy(call), large) }] };
  }),
  refused('M-8', 'that does not end the claim', ({ call }) => ({ ...call.about })),
  turnedAway('with 503', () => new Response('', { status: 503 })),
  turnedAway('with 429', () => new Response('', { status: 429 })),
  turnedAway('with a signed denial', ({ endpoint, call }) => {
    return new Response(
      endpoint.signed({ ...call.about, denied: 'There is no such pipeline here.' }),
    );
  }),
  ...between,
];
