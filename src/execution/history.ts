// History: what happened to one execution, in order, append-only. The engine writes and reads the
// bodies; stores keep them as they are.

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
  // What its code did.
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
  // A line of `ctx.log`.
  'progressed',
] as const;

export type HistoryEventKind = (typeof EVENT_KINDS)[number];

/** Longer is no history, and no inbox: not every store counts further. */
export const SEQ_MAX: number = 2 ** 31 - 1;

/** A `parked` event names so many of the calls that it waits for; there may be more that it does not name. */
export const NAMED_CALLS_MAX = 10;

/** What a writer appends. The store adds seq, time and fence. */
export interface NewEvent {
  readonly kind: HistoryEventKind;
  /** What people call it: the name of the step, timer, child, signal, document. */
  readonly name?: string;
  readonly body?: Payload;
}

/** What a body says. Total: one that is no object says nothing. */
export function saidIn<Body extends object>(body: string | undefined): Partial<Body> {
  const said: unknown = JSON.parse(body ?? '{}');
  return typeof said === 'object' && said !== null ? (said as Partial<Body>) : {};
}

export interface HistoryEvent extends NewEvent {
  readonly seq: number;
  readonly at: Instant;
  /** Of the claim that wrote it; absent for what outsiders did while nobody owned it. */
  readonly fence?: Fence;
}

/** What outsiders tell an execution. It becomes history when its owner takes notice. */
export interface InboxMessage {
  /** Counts from 1 within the execution, without gaps. */
  readonly n: number;
  readonly kind: 'child-ended' | 'signal' | 'cancel' | 'pause' | 'resume' | 'await-settled';
  readonly name?: string;
  readonly body?: Payload;
  readonly at: Instant;
}

// Following an execution to what it was continued as, and on. Who goes on as whom is what workers say.

/**
 * There may be any number of them and nothing is kept of each: what comes round meets a mark that is set again
 * after twice as many steps as before (Brent).
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

  /** Throws when it was there before: then there is no end to wait for. */
  step(to: ExecutionId): ExecutionId {
    if (to === this.#mark) {
      throw new Fault(
        'continued-in-circle',
        `Execution ${this.#first} has no result: what it was continued as comes round to ${to} again. A worker that is not Holdfast's own wrote that. Look at the history of both, and submit the work again.`,
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
