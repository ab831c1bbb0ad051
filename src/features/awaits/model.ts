// Awaits
//
// An await unit is one `ctx.await` of one execution. Each of its items is an interaction, which an outsider
// answers. The unit settles once: answered, timed out or cancelled, and tells its execution by a message
// (W-3), so that nothing that arrives is missed.

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

/** Started once when the unit is still open by then; an escalation is a reminder to somebody else. */
export interface Reminder {
  /** From opening. */
  readonly afterMs: number;
  readonly start: Submission;
}

/** What the owner says when it opens a unit. */
export interface OpenAwait {
  readonly call: CallKey;
  /** What people call it. */
  readonly name: string;
  readonly needed: number;
  readonly items: readonly OpenInteraction[];
  readonly timeoutMs?: number;
  /** Soonest first. */
  readonly reminders: readonly Reminder[];
  /** W-7: only by a signed link. */
  readonly signed: boolean;
  /** There is a schema or a projector: answers must be checked by a process that has the pipeline. */
  readonly checked: boolean;
  readonly defaultAnswer?: Payload;
}

interface OpenInteraction {
  readonly id: InteractionId;
  /** What the answerer is shown. */
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
  /** While open: the next time at which something is due, a reminder or the timeout. */
  readonly nextAt?: Instant;
  /** Those that were not started yet. */
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
  /** The answer came by a link whose signature was checked (W-7). */
  readonly verified?: true;
  /** How many came too late. */
  readonly late: number;
}

export interface Answer {
  readonly value: Payload;
  /** Of what the answerer sent: equal ones are the same answer. */
  readonly digest: string;
  readonly by?: string;
  readonly at: Instant;
}

/** At most so many late answers of an interaction are kept. */
export const LATE_ANSWERS_MAX = 20;

export function isSettled(unit: AwaitUnit): boolean {
  return unit.status !== 'open';
}
