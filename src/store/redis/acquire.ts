import { type AcquireView, answerGrant, decideAcquire } from '../../lease/decide/acquire.ts';
import { toFence } from '../../lease/fence.ts';
import type { LeaseRecord } from '../../lease/lease.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { Acquire, AcquireAnswer, Withdraw, Withdrawn } from '../../lease/port.ts';
import { AssertionFault, assert } from '../../support/assert.ts';
import type { Instant } from '../../support/clock.ts';
import { onKnownServer } from './adopt-server.ts';
import { type Database, optional } from './database.ts';
import { HINTS } from './events.ts';
import { ACQUIRE } from './grant-lease.ts';
import { WAITING } from './line.ts';
import { kindOf } from './load-view.ts';
import { breakerArguments } from './reclaim.ts';
import { toChain, toLease } from './records.ts';
import { script } from './script.ts';
import { RECORDS } from './sessions.ts';

type AcquireReply = readonly [
  kind: Buffer,
  now: number,
  own: Buffer[],
  lease: Buffer | null,
  bytes: Buffer | null,
  holder: Buffer[],
  ahead: number,
  flapUntil: Buffer | null,
  halted: Buffer | null,
];

/** one script that answers with everything. */
export function acquire(
  database: Database,
  policy: LeasePolicy,
  request: Acquire,
): Promise<AcquireAnswer> {
  return onKnownServer(database, policy, async () => {
    const reply = await database.run<AcquireReply>(ACQUIRE, [
      request.key,
      request.session,
      request.attempt,
      database.seen,
      ...[request.wait, request.reopen, request.fromCheckpointBefore].map(flag),
      optional(request.tenureMsMax?.toString()),
      policy.flapUnitMs,
      policy.reservationMs,
      policy.ticketMs,
      ...breakerArguments(policy),
    ]);
    return kindOf(reply) === 'moved'
      ? undefined
      : answerOf(database, request, viewOf(reply, policy));
  });
}

function flag(value: boolean | undefined): number {
  return value === true ? 1 : 0;
}

type Seen = ReturnType<typeof viewOf>;

function answerOf(database: Database, request: Acquire, seen: Seen): AcquireAnswer {
  const { kind, view, now } = seen;
  if (kind === 'granted') {
    assert(view.lease !== undefined, 'A-1: a grant was answered without its lease');
    database.noteFence(view.lease.fence);
    return granted(view.lease, seen, false);
  }
  const decision = decideAcquire(view, request, now);
  switch (decision.kind) {
    case 'refuse-session':
      return { kind: 'refused', ...decision.refusal };
    case 'replay':
      database.noteFence(decision.lease.fence);
      return granted(decision.lease, seen, true);
    case 'refuse': {
      const { refusal } = decision;
      const waits = decision.mayWait && request.wait === true;
      assert(waits === (kind === 'queued'), `A-7: the script said ${kind} to "${request.key}"`);
      return waits
        ? { kind: 'queued', ahead: view.ahead, refusal }
        : { kind: 'refused', ...refusal };
    }
    case 'reclaim':
    case 'grant':
      throw new AssertionFault(`A-1: "${request.key}" may be granted and its script did not`);
  }
}

function granted(lease: LeaseRecord, { view, now }: Seen, replayed: boolean): AcquireAnswer {
  return { kind: 'granted', replayed, ...answerGrant(lease, view.own, now) };
}

function viewOf(reply: AcquireReply, policy: LeasePolicy) {
  const [kind, now, own, record, bytes, holder, ahead, flapUntil, halted] = reply;
  const hasBytes = ['granted', 'replay'].includes(kind.toString());
  const view: AcquireView = {
    own: toChain(own),
    // A refusal has no need of them.
    lease: toLease(hasBytes ? { record, bytes } : { record }),
    holder: toChain(holder),
    ahead,
    flapUntil: flapUntil === null ? undefined : (Number(flapUntil.toString()) as Instant),
    halted: halted === null ? undefined : toFence(Number(halted.toString())),
    policy,
  };
  return { kind: kind.toString(), view, now: now as Instant };
}

const WITHDRAW = script(`
  ${RECORDS}
  ${HINTS}
  ${WAITING}
  local wasQueued = leave_line(ARGV[1], ARGV[2])
  if wasQueued then hint(ARGV[1]) end
  return wasQueued and 1 or 0
`);

export async function withdraw(database: Database, request: Withdraw): Promise<Withdrawn> {
  const left = await database.run<number>(WITHDRAW, [request.key, request.attempt]);
  return { kind: 'withdrawn', wasQueued: left === 1 };
}
