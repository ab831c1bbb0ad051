// Decides which executions a worker may claim. Pure.

import type { Fence } from '../../lease/fence.ts';
import { chainState, type SessionChain } from '../../lease/session.ts';
import type { Instant } from '../../support/clock.ts';
import type { ClaimRefusal } from '../refusal.ts';

/** The end of the last claim, for the owner of the next. */
export type Previous = 'none' | 'parked' | 'given-back' | 'lost';

/** A claim is a lease, so a lapsed or halted session takes nothing new. */
export function refuseClaims(
  view: { readonly own: SessionChain; readonly halted: Fence | undefined },
  now: Instant,
): ClaimRefusal | undefined {
  if (chainState(view.own, now) !== 'alive') return { why: 'session-not-live' };
  if (view.halted !== undefined) return { why: 'halted', presented: view.halted };
  return undefined;
}

/** The most that one call takes of one project, if `projects` of them have ready executions. */
export function fairPart(limit: number, projects: number): number {
  return Math.ceil(limit / Math.max(1, projects));
}

/**
 * The order of the projects in a claim: by name, starting at a random one. Without dice: as given.
 */
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
