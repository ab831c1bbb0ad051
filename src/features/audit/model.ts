// The audit: what people did to executions and what belongs to them. A record is made in the transaction of
// its act and never changes (J-1 … J-6).

import type { AuditId, ExecutionId, ProjectName } from '../../execution/names.ts';
import type { OwnerRefusal } from '../../execution/refusal.ts';
import type { Fence } from '../../lease/fence.ts';
import type { Owner, SessionId } from '../../lease/names.ts';
import type { Instant } from '../../support/clock.ts';

/** All that is recorded. Jobs are executions: who pauses, resumes or cancels one does that. */
export const AUDIT_ACTS = [
  ...(['cancel', 'pause', 'resume', 'move', 'redrive'] as const),
  ...(['skip-compensation', 'retry-compensation'] as const),
  ...(['answer', 'extend-await', 'assign-await', 'cancel-await'] as const),
  ...(['bulk-cancel', 'bulk-redrive', 'bulk-move'] as const),
  ...(['put-schedule', 'pause-schedule', 'resume-schedule', 'remove-schedule'] as const),
  ...(['put-template', 'make-link', 'run-archive', 'put-project'] as const),
  ...(['end-session', 'drain-lease', 'revoke-lease'] as const),
  ...(['make-key', 'recover-key', 'end-key', 'note'] as const),
] as const;

export type AuditAct = (typeof AUDIT_ACTS)[number];

/** A name of 256 bytes, and the id of its key. */
export const ACTOR_BYTES_MAX = 320;

/** What was acted on, within its project. */
export interface AuditTarget {
  readonly kind: (typeof AUDIT_TARGETS)[number];
  readonly id: string;
}

export const AUDIT_TARGETS = [
  ...(['execution', 'interaction', 'schedule', 'template', 'access-key'] as const),
  ...(['project', 'session', 'lease'] as const),
] as const;

/** A few names and values: what acts change. */
export type AuditFacts = Readonly<Record<string, unknown>>;

export interface AuditRecord {
  readonly id: AuditId;
  readonly at: Instant;
  readonly project: ProjectName;
  readonly actor: string;
  readonly act: AuditAct;
  readonly target: AuditTarget;
  /** Empty when none was given. */
  readonly reason: string;
  /** Absent when there was nothing before. */
  readonly before?: AuditFacts;
  /** Absent when there is nothing any more. */
  readonly after?: AuditFacts;
}

/** Who acts, and why. It comes with what is asked of the store, and is written down with what that does. */
export interface AuditStamp {
  /** Repeating an act with the same writes nothing twice (J-3). */
  readonly id: AuditId;
  readonly act: AuditAct;
  readonly actor: string;
  readonly reason: string;
  /** What the act says besides: which step, which filter. It is added to `after`. */
  readonly about?: AuditFacts;
}

/** Absent where nobody acts: the engine by itself, a job that does its items. */
export interface Audited {
  readonly audit?: AuditStamp;
}

// Writes that a store refused to owners whose claim was over, as people see them: a worker that goes on
// although others have taken its work. Counted, not kept one by one (J-10 … J-12).

export const OWNER_VERBS = ['record', 'transact', 'finish', 'park', 'giveBack'] as const;

export type OwnerVerb = (typeof OWNER_VERBS)[number];

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
