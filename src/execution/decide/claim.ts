// Which executions a worker may have, and what a claim makes of one. Pure.

import type { Fence } from '../../lease/fence.ts';
import type { Owner, SessionId } from '../../lease/names.ts';
import { chainState, type SessionChain } from '../../lease/session.ts';
import type { Instant } from '../../support/clock.ts';
import type { ExecutionRecord } from '../execution.ts';
import type { HistoryEvent } from '../history.ts';
import type { Payload } from '../names.ts';
import type { ClaimRefusal } from '../refusal.ts';
import { historyEvent, unset } from './record.ts';

/** How a claim ended, as the next one is told. */
export type Previous = 'none' | 'parked' | 'given-back' | 'lost';

/** a claim is a lease; who is lapsed or halted takes nothing new. */
export function refuseClaims(
  view: { readonly own: SessionChain; readonly halted: Fence | undefined },
  now: Instant,
): ClaimRefusal | undefined {
  if (chainState(view.own, now) !== 'alive') return { why: 'session-not-live' };
  if (view.halted !== undefined) return { why: 'halted', presented: view.halted };
  return undefined;
}

/** only an end that is stored lets the next one in; `overdue` does not (S-3). */
export function leavesWork(holder: SessionChain, now: Instant): boolean {
  return chainState(holder, now) === 'ended';
}

/** X-3 makes the status of no account: running and terminal ones have no `readyAt`. */
export function isReady(execution: ExecutionRecord, now: Instant): boolean {
  const { readyAt, holds } = execution;
  return readyAt !== undefined && readyAt <= now && holds.length === 0;
}

/** At most this many of one project in one call, when `projects` of them have something ready. */
export function fairPart(limit: number, projects: number): number {
  return Math.ceil(limit / Math.max(1, projects));
}

/** In which order they are given theirs: by name, from wherever the dice says; or as they are. */
export function inTurn<Project extends string>(
  projects: Iterable<Project>,
  dice: number | undefined,
): readonly Project[] {
  const all = [...projects];
  if (dice === undefined || all.length === 1) return all;
  const named = all.sort();
  const first = Math.floor(dice * named.length);
  return [...named.slice(first), ...named.slice(0, first)];
}

export interface ClaimView {
  readonly execution: ExecutionRecord;
  /** How the last claim ended, when it is not lost. */
  readonly previous: Exclude<Previous, 'lost'>;
  /** Its session has ended under it. */
  readonly lost: boolean;
  /** Seq of the `claimed` event of the last claim. */
  readonly claimedSeq: number;
  /** Seq of the last event in history, whatever the row says. */
  readonly lastSeq: number;
}

export interface ClaimGrant {
  readonly fence: Fence;
  readonly session: SessionId;
  readonly owner: Owner;
  readonly now: Instant;
}

export interface ClaimedExecution {
  readonly execution: ExecutionRecord;
  readonly event: HistoryEvent;
  readonly previous: Previous;
}

export function claimExecution(view: ClaimView, grant: ClaimGrant): ClaimedExecution {
  const { fence, session, owner, now } = grant;
  const previous = view.lost ? 'lost' : view.previous;
  const seq = view.lastSeq + 1;
  const body = JSON.stringify({ session, owner, previous }) as Payload;
  const event = historyEvent({ kind: 'claimed', body }, { seq, at: now, fence });
  const execution: ExecutionRecord = {
    ...unset(view.execution, 'readyAt'),
    status: 'running',
    fence,
    session,
    claimedAt: now,
    fruitlessClaims: fruitlessAfter(view),
    seq,
    wakeAfter: 0,
  };
  return { execution, event, previous };
}

/** lost claims in a row that left nothing behind. */
function fruitlessAfter({ execution, lost, lastSeq, claimedSeq }: ClaimView): number {
  if (!lost) return 0;
  return lastSeq === claimedSeq ? execution.fruitlessClaims + 1 : 1;
}
