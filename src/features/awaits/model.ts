// Awaits
//
// An await unit is one `ctx.await` of one execution. Each of its items is an interaction, which an
// outsider answers. The unit settles once: answered, timed out or cancelled. It then sends its
// execution a message (W-3), so that no outcome is lost.

import type { Submission } from '../../execution/execution.ts';
import type {
  CallKey,
  ExecutionId,
  InteractionId,
  Payload,
  PipelineName,
  ProjectName,
} from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';

export type AwaitStatus = 'open' | 'answered' | 'timed-out' | 'cancelled';

/** `early`: answered before its unit was opened. `closed`: its unit settled without it. */
export type InteractionStatus = 'open' | 'early' | 'answered' | 'closed';

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
}

interface OpenInteraction {
  readonly id: InteractionId;
  /** The content that the answerer sees. */
  readonly request?: Payload;
  readonly assignee?: string;
}

export interface AwaitUnit {
  readonly execution: ExecutionId;
  readonly call: CallKey;
  readonly project: ProjectName;
  readonly pipeline: PipelineName;
  readonly name: string;
  readonly items: number;
  readonly needed: number;
  readonly answered: number;
  readonly status: AwaitStatus;
  readonly openedAt: Instant;
  readonly settledAt?: Instant;
  readonly dueAt?: Instant;
  /** While open: the next due time of a reminder or the timeout. */
  readonly nextAt?: Instant;
  /** Reminders that have not started yet. */
  readonly reminders: readonly Reminder[];
  readonly signed: boolean;
  readonly checked: boolean;
  readonly defaultAnswer?: Payload;
}

export interface Interaction {
  readonly id: InteractionId;
  readonly execution: ExecutionId;
  readonly call: CallKey;
  readonly project: ProjectName;
  /** From 0. */
  readonly item: number;
  readonly status: InteractionStatus;
  readonly request?: Payload;
  readonly assignee?: string;
  readonly answer?: Answer;
  /** The answer came by a link with a valid signature (W-7). */
  readonly verified?: true;
  /** The number of late answers. */
  readonly late: number;
}

export interface Answer {
  readonly value: Payload;
  /** Of what the answerer sent: equal ones are the same answer. */
  readonly digest: string;
  readonly by?: string;
  readonly at: Instant;
}

/** The most late answers that the store keeps per interaction. */
export const LATE_ANSWERS_MAX = 20;

export function isSettled(unit: AwaitUnit): boolean {
  return unit.status !== 'open';
}
