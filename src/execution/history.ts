// The history of one execution: its events in order, append-only. The engine writes and reads the
// bodies; stores keep them unchanged.

import type { Fence } from '../lease/fence.ts';
import type { Instant } from '../support/clock.ts';
import { Fault } from '../support/fault.ts';
import type { ExecutionId, Payload } from './names.ts';

export const EVENT_KINDS = [
  // The life of the execution.
  'submitted',
  'claimed',
  'parked',
  'given-back',
  'paused',
  'resumed',
  'blocked',
  'unblocked',
  'moved',
  'completed',
  'failed',
  'cancelled',
  'quarantined',
  'compensating',
  'compensated',
  // Results of its code.
  'step-completed',
  'step-failed',
  'timer-set',
  'timer-fired',
  'child-spawned',
  'child-ended',
  'signal-received',
  'await-opened',
  'await-settled',
  'cancel-requested',
  'checkpointed',
  'attached',
  'lease-ended',
  // A line of `ctx.log`.
  'progressed',
] as const;

/**
 * The kind of a history event.
 *
 * - `submitted`: the execution was submitted.
 * - `claimed`: a worker claimed it. The body has the `session`, and `previous` is how the claim
 *   before ended: `none`, `parked`, `given-back` or `lost`.
 * - `parked`: its worker stopped running it until a time, a child, a signal or an answer.
 * - `given-back`: its worker returned it, and another worker may claim it. `why` is the reason.
 * - `paused`: an operator paused it.
 * - `resumed`: an operator resumed it, from a pause or a block.
 * - `blocked`: its code does not match its history, or has a bug.
 * - `unblocked`: the block was removed without a resume.
 * - `moved`: it was repinned to another release.
 * - `completed`: it returned a result.
 * - `failed`: it ended with an error, or passed its deadline.
 * - `cancelled`: it was cancelled.
 * - `quarantined`: workers were lost too often while they ran it, or its compensation failed.
 * - `compensating`: it began to undo its steps.
 * - `compensated`: its steps were undone.
 * - `step-completed`: a step returned; `out` is its result.
 * - `step-failed`: an attempt of a step failed. `retryInMs` is the pause before the next attempt.
 * - `timer-set`: its code began to sleep.
 * - `timer-fired`: the time of a sleep came.
 * - `child-spawned`: it started a child.
 * - `child-ended`: a child ended.
 * - `signal-received`: its code received a signal.
 * - `await-opened`: it asked a question.
 * - `await-settled`: the question was answered, timed out or was cancelled.
 * - `cancel-requested`: its worker saw a request to cancel it.
 * - `checkpointed`: its code saved a state.
 * - `attached`: its code attached a document.
 * - `lease-ended`: a block of `ctx.lease` ended; `fence` is that of its last term.
 * - `progressed`: lines of `ctx.log`.
 */
export type HistoryEventKind = (typeof EVENT_KINDS)[number];

/** The limit of histories and inboxes, because not every store counts further. */
export const SEQ_MAX: number = 2 ** 31 - 1;

/** The most calls that a `parked` event names. The execution may wait for more. */
export const NAMED_CALLS_MAX = 10;

/** A history event before the store has added number, time and fence. */
export interface NewEvent {
  /** The kind of event. */
  readonly kind: HistoryEventKind;
  /** The name of the step, timer, child, signal, attachment or lease. */
  readonly name?: string;
  /** The details as JSON text. */
  readonly body?: Payload;
}

/** Parses a body. Never throws for valid JSON: a body that is not an object has no fields. */
export function parseBody<Body extends object>(body: string | undefined): Partial<Body> {
  const parsed: unknown = JSON.parse(body ?? '{}');
  return typeof parsed === 'object' && parsed !== null ? (parsed as Partial<Body>) : {};
}

/** An event in the history of an execution. */
export interface HistoryEvent extends NewEvent {
  /** The number of the event, from 1, without gaps. */
  readonly seq: number;
  /** When it was written, by the store's clock. */
  readonly at: Instant;
  /** The fence of the claim that wrote it. Absent if no worker owned the execution. */
  readonly fence?: Fence;
}

/** A message from outside an execution. It enters the history when the owner acts on it. */
export interface InboxMessage {
  /** Counts from 1 within the execution, without gaps. */
  readonly n: number;
  readonly kind: 'child-ended' | 'signal' | 'cancel' | 'pause' | 'resume' | 'await-settled';
  readonly name?: string;
  readonly body?: Payload;
  /** The key of a signal. */
  readonly key?: string;
  readonly at: Instant;
}

// Follows an execution through its continuations. Workers report these links, so they may be wrong.

/**
 * Detects a circle in constant memory, however long the chain: it compares each id with a mark, and
 * moves the mark after twice as many steps as before (Brent).
 */
export class Continuations {
  readonly #first: ExecutionId;
  #mark: ExecutionId;
  #stride = 1;
  #left = 1;

  constructor(first: ExecutionId) {
    this.#first = first;
    this.#mark = first;
  }

  /** Throws when the chain returns to an earlier id, because no end will come. */
  step(to: ExecutionId): ExecutionId {
    if (to === this.#mark) {
      throw new Fault(
        'continued-in-circle',
        `Execution ${this.#first} has no result: its continuations lead back to ${to}. Only a worker that is not Holdfast's own writes that. Read the history of both, and submit the work again.`,
      );
    }
    this.#left -= 1;
    if (this.#left === 0) {
      this.#mark = to;
      this.#stride *= 2;
      this.#left = this.#stride;
    }
    return to;
  }
}
