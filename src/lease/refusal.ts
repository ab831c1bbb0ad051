// Refusals: every expected negative reply of the kernel, as a value that its reader can act on.
// `describeRefusal` turns one into a sentence: what happened, why, and what to do next.

import { unreachable } from '../support/assert.ts';
import { formatInstant, type Instant } from '../support/clock.ts';
import type { Exit } from './exit.ts';
import { type Fence, formatFence } from './fence.ts';
import type { LeaseState } from './lease.ts';
import type { EffectId, LeaseKey, Owner, SessionId } from './names.ts';

/** The holder of a key that another session wants. */
export interface Holder {
  /** Its owner. */
  readonly owner: Owner;
  /** Its session. */
  readonly session: SessionId;
  /** The fence of its term. */
  readonly fence: Fence;
  /** When the term was granted. */
  readonly since: Instant;
  /** The state of the lease. */
  readonly state: LeaseState;
  /** Milliseconds until the key can be acquired, at most, if the holder does not renew. */
  readonly freeInMs: number;
}

/**
 * Why the store refused an operation of a session.
 *
 * - `session-duplicate`: the id exists with other settings, or its session has ended.
 * - `session-unknown`: the store does not know the session.
 * - `session-not-yours`: it belongs to another owner.
 * - `session-lapsed`: it missed heartbeats and may rejoin.
 * - `session-expired`, `session-ended`: it is over; open a new one.
 * - `session-too-deep`: sessions are nested too deep.
 * - `would-shorten`: the heartbeat would end the session sooner.
 */
export type SessionRefusal =
  | { readonly why: 'session-duplicate'; readonly session: SessionId }
  | { readonly why: 'session-unknown'; readonly session: SessionId }
  | { readonly why: 'session-not-yours'; readonly session: SessionId; readonly owner: Owner }
  | { readonly why: 'session-lapsed'; readonly session: SessionId }
  | { readonly why: 'session-expired'; readonly session: SessionId }
  | { readonly why: 'session-ended'; readonly session: SessionId; readonly exit: Exit }
  | { readonly why: 'session-too-deep'; readonly depthMax: number }
  | { readonly why: 'would-shorten'; readonly session: SessionId; readonly remainingMs: number };

/**
 * Why the store did not grant a key.
 *
 * - `held`: `holder` has it.
 * - `retired`: its work is done for good; acquire with `reopen`.
 * - `reserved`: it is reserved for a successor.
 * - `attempt-used`: this attempt had its grant, and the term has ended.
 * - `damped`: this owner lost the key by expiry too often.
 * - `behind-others`: other waiters come first.
 * - `reclaim-paused`: its holder is overdue and has time to renew, after an outage or a mass
 *   expiry.
 * - `halted`: a fence was presented that the store never issued. Raise the epoch.
 */
export type EntryRefusal =
  | { readonly why: 'held'; readonly key: LeaseKey; readonly holder: Holder }
  | { readonly why: 'retired'; readonly key: LeaseKey; readonly fence: Fence }
  | {
      readonly why: 'reserved';
      readonly key: LeaseKey;
      readonly for: Owner;
      readonly freeInMs: number;
    }
  | { readonly why: 'attempt-used'; readonly key: LeaseKey; readonly fence: Fence }
  | { readonly why: 'damped'; readonly key: LeaseKey; readonly freeInMs: number }
  | { readonly why: 'behind-others'; readonly key: LeaseKey; readonly ahead: number }
  | { readonly why: 'reclaim-paused'; readonly key: LeaseKey; readonly holder: Holder }
  | { readonly why: 'halted'; readonly presented: Fence };

/**
 * Why the store refused a write of a holder. Nothing was written.
 *
 * - `key-unknown`: the key was never acquired in this store.
 * - `superseded`: a successor has a newer fence.
 * - `fence-ahead`: the store never issued this fence.
 * - `not-yours`: another session holds it.
 * - `lapsed`: the session missed heartbeats and may rejoin.
 * - `expired`, `ended`: the term is over.
 */
export type TermRefusal =
  | { readonly why: 'key-unknown'; readonly key: LeaseKey }
  | {
      readonly why: 'superseded';
      readonly key: LeaseKey;
      readonly fence: Fence;
      readonly newest: Fence;
      readonly holder: Owner;
    }
  | { readonly why: 'fence-ahead'; readonly key: LeaseKey; readonly fence: Fence }
  | { readonly why: 'not-yours'; readonly key: LeaseKey; readonly owner: Owner }
  | { readonly why: 'lapsed'; readonly key: LeaseKey; readonly fence: Fence }
  | { readonly why: 'expired'; readonly key: LeaseKey; readonly fence: Fence }
  | {
      readonly why: 'ended';
      readonly key: LeaseKey;
      readonly fence: Fence;
      readonly exit: Exit;
      readonly cause?: string;
    };

/**
 * Why the store refused the content of a write. Nothing was written.
 *
 * - `seq-superseded`: a later checkpoint is stored.
 * - `seq-conflict`: this number is stored with other content.
 * - `checkpoint-too-large`: it exceeds the policy's `checkpointBytesMax`.
 * - `intent-open`: the effect was begun and not settled.
 * - `intents-full`: the key has as many open intents as the policy allows.
 * - `already-draining`: an operator has asked before.
 */
export type WriteRefusal =
  | { readonly why: 'seq-superseded'; readonly key: LeaseKey; readonly storedSeq: number }
  | { readonly why: 'seq-conflict'; readonly key: LeaseKey; readonly seq: number }
  | { readonly why: 'checkpoint-too-large'; readonly bytes: number; readonly bytesMax: number }
  | { readonly why: 'intent-open'; readonly effect: EffectId; readonly fence: Fence }
  | { readonly why: 'intents-full'; readonly key: LeaseKey; readonly intentsMax: number }
  | { readonly why: 'already-draining'; readonly key: LeaseKey; readonly deadlineInMs: number };

/**
 * Why a store refused a lease operation. `why` is the stable code; `describeRefusal` explains it.
 */
export type Refusal = SessionRefusal | EntryRefusal | TermRefusal | WriteRefusal;

/**
 * Returns a sentence that explains a refusal: the cause, its effect and what to do.
 *
 * @example
 * const outcome = await session.acquire('reports/daily');
 * if (outcome.kind === 'refused') console.error(describeRefusal(outcome));
 */
export function describeRefusal(refusal: Refusal): string {
  switch (refusal.why) {
    case 'session-duplicate':
      return `Session ${refusal.session} exists with other settings, or has ended. No session was opened. Open one with a new id.`;
    case 'session-unknown':
      return `Session ${refusal.session} is not known to this store. Nothing was written. Open a session first. If it was open before, this is another store or an older copy of it.`;
    case 'session-not-yours':
      return `Session ${refusal.session} belongs to "${refusal.owner}". Nothing was written. Use the session that this process opened.`;
    case 'session-lapsed':
      return `Session ${refusal.session} has lapsed: no heartbeat arrived in time. Nothing was written. Send a heartbeat, and continue after the store accepts it.`;
    case 'session-expired':
      return `Session ${refusal.session} has expired: no heartbeat arrived within its ttl. Nothing was written. Stop its work, open a new session and acquire again.`;
    case 'session-ended':
      return `Session ${refusal.session} has ended (${refusal.exit}). Nothing was written. Stop its work, open a new session and acquire again.`;
    case 'session-too-deep':
      return `This store nests sessions at most ${refusal.depthMax} deep (policy.sessionDepthMax). No session was opened. Open this one under an ancestor nearer the root.`;
    case 'would-shorten':
      return `This heartbeat would shorten session ${refusal.session}, which has ${refusal.remainingMs} ms left. Heartbeats only extend, so nothing was changed. Send it with a longer ttl, or later.`;
    case 'held':
      return `"${refusal.key}" is ${refusal.holder.state} by ${who(refusal.holder)}. Without a renewal it is free in at most ${refusal.holder.freeInMs} ms. Acquire with wait: true, or ask the holder to drain.`;
    case 'retired':
      return `"${refusal.key}" was retired under fence ${formatFence(refusal.fence)}: its work is done for good. Acquire it with reopen: true if it must be done again.`;
    case 'reserved':
      return `"${refusal.key}" is reserved for "${refusal.for}" for ${refusal.freeInMs} ms more. Try again then, or acquire with wait: true.`;
    case 'attempt-used':
      return `This attempt was granted "${refusal.key}" under fence ${formatFence(refusal.fence)}, and that term has ended. Acquire with a new attempt.`;
    case 'damped':
      return `This owner let "${refusal.key}" expire too often, so it cannot acquire it for ${refusal.freeInMs} ms. Other owners can. Look for long pauses of this process, or raise its ttl.`;
    case 'behind-others':
      return `${refusal.ahead} others wait for "${refusal.key}" before you. Acquire with wait: true to join the queue.`;
    case 'reclaim-paused':
      return `"${refusal.key}" is held by ${who(refusal.holder)}, which is silent. The store was away, or many sessions stopped at once, so each gets a fair chance to renew (at most ${refusal.holder.freeInMs} ms more). Check the network and the store. The pause ends by itself.`;
    case 'halted':
      return `Grants are halted: a process presented fence ${formatFence(refusal.presented)}, which this store never issued, so it may be an older copy of itself. Find out which copy is right, then raise the epoch: holdfast raise-epoch.`;
    case 'key-unknown':
      return `"${refusal.key}" was never acquired in this store. Nothing was written. Check the key and which store this is.`;
    case 'superseded':
      return `Fence ${formatFence(refusal.fence)} of "${refusal.key}" is stale: "${refusal.holder}" holds ${formatFence(refusal.newest)}. Nothing was written. Stop: the successor continues from the last checkpoint.`;
    case 'fence-ahead':
      return `Fence ${formatFence(refusal.fence)} of "${refusal.key}" was never issued by this store, so it may be an older copy of itself. Nothing was written, and grants are halted. Find out which copy is right, then raise the epoch: holdfast raise-epoch.`;
    case 'not-yours':
      return `"${refusal.key}" is held by another session, of "${refusal.owner}". Nothing was written. Use the session that acquired it.`;
    case 'lapsed':
      return `"${refusal.key}" has lapsed under fence ${formatFence(refusal.fence)}: its authority ended, and no session has taken over. Nothing was written. Rejoin before you write: rejoin().`;
    case 'expired':
      return `"${refusal.key}" has expired under fence ${formatFence(refusal.fence)}. Nothing was changed. Stop and acquire again. The successor redoes the work since the last checkpoint.`;
    case 'ended':
      return `"${refusal.key}" ended under fence ${formatFence(refusal.fence)} (${refusal.exit}${refusal.cause === undefined ? '' : `: ${refusal.cause}`}). Nothing was changed. Acquire again to continue.`;
    case 'seq-superseded':
      return `A later checkpoint of "${refusal.key}" (seq ${refusal.storedSeq}) is stored, so this one was dropped. Continue: the stored one is newer.`;
    case 'seq-conflict':
      return `Checkpoint seq ${refusal.seq} of "${refusal.key}" is stored with other content. Nothing was written. Use the next seq.`;
    case 'checkpoint-too-large':
      return `The checkpoint has ${refusal.bytes} bytes; this store keeps at most ${refusal.bytesMax} (policy.checkpointBytesMax). Nothing was written. Store the data elsewhere and checkpoint a reference.`;
    case 'intent-open':
      return `Effect "${refusal.effect}" was begun under fence ${formatFence(refusal.fence)} and may have happened. Nothing was written. Find out whether it did, and settle it before you begin it again.`;
    case 'intents-full':
      return `"${refusal.key}" has ${refusal.intentsMax} open intents, the most this store keeps (policy.intentsMax). Nothing was written. Settle some first.`;
    case 'already-draining':
      return `"${refusal.key}" is draining, with ${refusal.deadlineInMs} ms left. Nothing was changed. Wait, or revoke it.`;
    default:
      return unreachable(refusal);
  }
}

function who(holder: Holder): string {
  return `"${holder.owner}" (fence ${formatFence(holder.fence)}, since ${formatInstant(holder.since)})`;
}
