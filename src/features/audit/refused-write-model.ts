// Writes that a store refused to owners whose claim was over, as people see them: a worker that goes on
// although others have taken its work. Counted, not kept one by one (J-10 … J-12).

import type { ExecutionId, ProjectName } from '../../execution/names.ts';
import type { OwnerRefusal } from '../../execution/refusal.ts';
import type { Fence } from '../../lease/fence.ts';
import type { Owner, SessionId } from '../../lease/names.ts';
import { type Instant, laterBy } from '../../support/clock.ts';

export type OwnerVerb = 'record' | 'transact' | 'finish' | 'park' | 'giveBack';

export const OWNER_VERBS: readonly OwnerVerb[] = [
  ...(['record', 'transact', 'finish', 'park', 'giveBack'] as const),
];

/** Of one project; the one that was seen longest ago makes room (J-12). */
export const REFUSED_WRITES_MAX = 10_000;

/** All that were alike: this verb, of this execution, under this fence. */
export interface RefusedWriteKey {
  readonly execution: ExecutionId;
  /** Under which it was to be written. */
  readonly fence: Fence;
  readonly verb: OwnerVerb;
}

interface RefusedWriteFacts extends RefusedWriteKey {
  readonly project: ProjectName;
  /** Of the last one, as are all below. */
  readonly why: OwnerRefusal['why'];
  /** The fence of the newest claim, when there was a newer one. */
  readonly newest?: Fence;
  readonly session: SessionId;
  readonly owner: Owner;
  readonly count: number;
}

export interface RefusedWrite extends RefusedWriteFacts {
  readonly firstAt: Instant;
  readonly lastAt: Instant;
}

/** As a process has counted them since it last said so; a store has the time. */
export interface RefusedWrites extends RefusedWriteFacts {
  readonly firstAgoMs: number;
  readonly lastAgoMs: number;
}

/** J-11: added to what is known of the same. */
export function addRefusedWrites(
  known: RefusedWrite | undefined,
  { firstAgoMs, lastAgoMs, ...told }: RefusedWrites,
  now: Instant,
): RefusedWrite {
  const firstAt = laterBy(now, -firstAgoMs);
  const lastAt = laterBy(now, -lastAgoMs);
  if (known === undefined) return { ...told, firstAt, lastAt };
  const newer = lastAt >= known.lastAt ? { ...told, lastAt } : known;
  return {
    ...newer,
    count: known.count + told.count,
    firstAt: firstAt < known.firstAt ? firstAt : known.firstAt,
  };
}
