// Awaits
//
// An await unit is one `ctx.await` of one execution. Each of its items is an interaction, which an
// outsider answers. The unit settles once: answered, timed out or cancelled. It then sends its
// execution a message (W-3), so that no outcome is lost.

import type { ConcurrencyKey, Submission } from '../../execution/execution.ts';
import type {
  CallKey,
  ExecutionId,
  InteractionId,
  Payload,
  PipelineName,
  ProjectName,
} from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';

/** The status of an await: `open`, or how it settled: `answered`, `timed-out` or `cancelled`. */
export type AwaitStatus = 'open' | 'answered' | 'timed-out' | 'cancelled';

/**
 * The status of one question.
 *
 * - `queued`: it waits for a slot of its concurrency key, and nobody is asked yet.
 * - `open`: it can be answered.
 * - `early`: it was answered before the execution asked.
 * - `answered`: it has its answer.
 * - `closed`: its await settled without it.
 */
export type InteractionStatus = 'queued' | 'open' | 'early' | 'answered' | 'closed';

/** Starts once if the unit is still open then. An escalation is a reminder to another person. */
export interface Reminder {
  /** Counts from the opening. */
  readonly afterMs: number;
  readonly start: Submission;
}

/** The owner's request to open a unit. */
export interface OpenAwait {
  readonly call: CallKey;
  /** The name for people. */
  readonly name: string;
  readonly needed: number;
  readonly items: readonly OpenInteraction[];
  readonly timeoutMs?: number;
  /** Earliest first. */
  readonly reminders: readonly Reminder[];
  /** Accepts answers only by a signed link (W-7). */
  readonly signed: boolean;
  /**
   * The question has a schema or a projector, so a process with the pipeline must check the
   * answers.
   */
  readonly checked: boolean;
  readonly defaultAnswer?: Payload;
  /** Limits how many questions of the key are open at once (W-17). */
  readonly concurrency?: ConcurrencyKey;
}

interface OpenInteraction {
  readonly id: InteractionId;
  /** A name that the code chose, by which others find the question (W-14). */
  readonly correlation?: string;
  /** The content that the answerer sees. */
  readonly request?: Payload;
  readonly assignee?: string;
}

/** One `ctx.await` of one execution. */
export interface AwaitUnit {
  /** The execution. */
  readonly execution: ExecutionId;
  /** The call in its code. */
  readonly call: CallKey;
  /** The project. */
  readonly project: ProjectName;
  /** The name of the pipeline. */
  readonly pipeline: PipelineName;
  /** The name of the await. */
  readonly name: string;
  /** How many interactions it has. */
  readonly items: number;
  /** How many answers it needs. */
  readonly needed: number;
  /** How many answers it has. */
  readonly answered: number;
  /** The status. */
  readonly status: AwaitStatus;
  /** When the execution asked. */
  readonly openedAt: Instant;
  /** When it settled. */
  readonly settledAt?: Instant;
  /** When it times out. */
  readonly dueAt?: Instant;
  /** When the next reminder or the timeout is due. */
  readonly nextAt?: Instant;
  /** Reminders that have not started. */
  readonly reminders: readonly Reminder[];
  /** True if it takes only answers by a signed link. */
  readonly signed: boolean;
  /**
   * True if the question has a schema or a projector, so that a process with the code must check
   * answers.
   */
  readonly checked: boolean;
  /** The default value. */
  readonly defaultAnswer?: Payload;
  /** The correlation that another question has, so that nothing was asked (W-15). */
  readonly clash?: string;
  /** The key whose slots its questions need, and its limit. */
  readonly concurrency?: ConcurrencyKey;
}

export interface Interaction {
  readonly id: InteractionId;
  readonly execution: ExecutionId;
  readonly call: CallKey;
  readonly project: ProjectName;
  /** From 0. */
  readonly item: number;
  readonly status: InteractionStatus;
  /** The name that the code chose for it (W-14). */
  readonly correlation?: string;
  readonly request?: Payload;
  readonly assignee?: string;
  readonly answer?: Answer;
  /** The answer came by a link with a valid signature (W-7). */
  readonly verified?: true;
  /** The number of late answers. */
  readonly late: number;
}

/** An answer as it is stored. */
export interface Answer {
  /** The stored value. */
  readonly value: Payload;
  /** The digest of the value that was sent. Equal ones are the same answer. */
  readonly digest: string;
  /** The actor who answered. */
  readonly actor?: string;
  /** When. */
  readonly at: Instant;
}

/** The most late answers that the store keeps per interaction. */
export const LATE_ANSWERS_MAX = 20;

export function isSettled(unit: AwaitUnit): boolean {
  return unit.status !== 'open';
}

/** The place of an interaction in the order of due times. */
export interface DuePlace {
  /** Absent without a time limit. */
  readonly dueAt?: Instant;
  readonly execution: ExecutionId;
  readonly id: InteractionId;
}

export function duePlaceOf({
  interaction: { execution, id },
  unit,
}: {
  readonly interaction: Interaction;
  readonly unit: AwaitUnit | undefined;
}): DuePlace {
  return { ...(unit?.dueAt === undefined ? {} : { dueAt: unit.dueAt }), execution, id };
}
