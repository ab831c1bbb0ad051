// The audit: operations of people on executions and what belongs to them. The transaction of an
// operation writes its record, and a record never changes (J-1 … J-6).

import type { AuditId, ExecutionId, ProjectName } from '../../execution/names.ts';
import type { OwnerRefusal } from '../../execution/refusal.ts';
import type { Fence } from '../../lease/fence.ts';
import type { Owner, SessionId } from '../../lease/names.ts';
import type { Instant } from '../../support/clock.ts';
import { wordsIn } from '../../support/options.ts';

/**
 * All recorded operations. A job is an execution, so pausing, resuming or cancelling one appears as
 * such.
 */
export const AUDIT_ACTIONS = [
  ...(['cancel', 'pause', 'resume', 'repin', 'redrive', 'erase'] as const),
  ...(['skip-compensation', 'retry-compensation'] as const),
  ...(['answer', 'extend-await', 'assign-await', 'cancel-await'] as const),
  ...(['bulk-cancel', 'bulk-redrive', 'bulk-repin'] as const),
  ...(['put-schedule', 'pause-schedule', 'resume-schedule', 'remove-schedule'] as const),
  ...(['trigger-schedule', 'backfill-schedule'] as const),
  ...(['activate-release', 'set-canary', 'promote-canary', 'roll-back-release'] as const),
  ...(['deactivate-release', 'retire-release'] as const),
  ...(['put-template', 'create-link', 'run-archive', 'put-project'] as const),
  ...(['put-view', 'remove-view'] as const),
  ...(['put-channel', 'remove-channel', 'rotate-channel'] as const),
  ...(['test-channel', 'replay-channel'] as const),
  ...(['end-session', 'drain-lease', 'revoke-lease'] as const),
  ...(['create-key', 'recover-key', 'revoke-key', 'note'] as const),
] as const;

/** An operation that the audit records. */
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** A name of 256 bytes, and the id of its key. */
export const ACTOR_BYTES_MAX = 320;

/** The actor of an operation whose caller names none. */
export const ANONYMOUS = 'anonymous';

/** The target of an operation, within its project. */
export interface AuditTarget {
  /** The kind of target. */
  readonly kind: (typeof AUDIT_TARGETS)[number];
  /** Its id. */
  readonly id: string;
}

export const AUDIT_TARGETS = wordsIn(
  'execution interaction schedule template access-key project session lease view rollout channel',
);

/** Names and values that an operation changed. */
export type AuditFacts = Readonly<Record<string, unknown>>;

/** The record of one operation, written in the same transaction. */
export interface AuditRecord {
  /** The id of the record. */
  readonly id: AuditId;
  /** When, by the store's clock. */
  readonly at: Instant;
  /** The project. */
  readonly project: ProjectName;
  /** The actor. `anonymous` if the caller did not pass one. */
  readonly actor: string;
  /** The operation. */
  readonly action: AuditAction;
  /** The target. */
  readonly target: AuditTarget;
  /** Why. Empty if the caller did not pass one. */
  readonly reason: string;
  /** The values before. Absent if there were none. */
  readonly before?: AuditFacts;
  /** The values after. Absent if there are none. */
  readonly after?: AuditFacts;
}

/**
 * The actor and the reason. They come with a request to the store, which records them together with
 * the change.
 */
export interface AuditStamp {
  /** Repeating an operation with the same id writes nothing twice (J-3). */
  readonly id: AuditId;
  readonly action: AuditAction;
  readonly actor: string;
  readonly reason: string;
  /** Further facts, such as the step or the filter. The record has them in `after`. */
  readonly about?: AuditFacts;
}

/** Absent if no person acts: the engine acts by itself, or a job handles its items. */
export interface Audited {
  readonly audit?: AuditStamp;
}

// Writes that a store refused to owners whose claim was over. They show workers that continue
// although another has taken over. The store counts them and does not keep each (J-10 … J-12).

export const OWNER_VERBS = ['record', 'transact', 'finish', 'park', 'giveBack'] as const;

/** A write of a worker to an execution that it owns. */
export type OwnerVerb = (typeof OWNER_VERBS)[number];

/** How writes of workers reach the store; `embedded` workers have it themselves. */
export const WRITE_TRANSPORTS = [
  ...(['embedded', 'in-process', 'http', 'stream', 'grpc', 'sqs', 'push'] as const),
] as const;

/** The transport of a worker's write. */
export type WriteTransport = (typeof WRITE_TRANSPORTS)[number];

/** The limit per project. The least recently seen line makes room (J-12). */
export const REFUSED_WRITES_MAX = 10_000;

/** Refused writes that count together. */
export interface RefusedWriteKey {
  /** The execution. */
  readonly execution: ExecutionId;
  /** The fence that the worker presented. */
  readonly fence: Fence;
  /** The write. */
  readonly verb: OwnerVerb;
}

interface RefusedWriteFacts extends RefusedWriteKey {
  /** The project. */
  readonly project: ProjectName;
  /** Why the last one was refused. */
  readonly why: OwnerRefusal['why'];
  /** The fence of the newest claim, if there is a newer one. */
  readonly newest?: Fence;
  /** The session of the last one. */
  readonly session: SessionId;
  /** The owner of that session. */
  readonly owner: Owner;
  /** The transport of the last one. Absent for lines of older builds. */
  readonly transport?: WriteTransport;
  /** How many were refused. */
  readonly count: number;
}

/**
 * Writes that the store refused to a worker whose claim had ended: the worker continued although
 * another took over.
 */
export interface RefusedWrite extends RefusedWriteFacts {
  /** When the first one was refused. */
  readonly firstAt: Instant;
  /** When the last one was refused. */
  readonly lastAt: Instant;
  /**
   * How long the claim had been over when the last one was refused. Absent if the store no longer
   * knows when the claim ended.
   */
  readonly lateMs?: number;
}

/** A process's count since its last report. The store adds the time. */
export interface RefusedWrites extends RefusedWriteFacts {
  readonly transport: WriteTransport;
  readonly firstAgoMs: number;
  readonly lastAgoMs: number;
}
