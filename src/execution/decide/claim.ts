// Which executions a worker may have. Pure.

import type { Fence } from '../../lease/fence.ts';
import { chainState, type SessionChain } from '../../lease/session.ts';
import type { Instant } from '../../support/clock.ts';
import type { ExecutionRecord } from '../execution.ts';
import type { ClaimRefusal } from '../refusal.ts';

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
