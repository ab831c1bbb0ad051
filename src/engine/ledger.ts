// What history says, arranged for a replay. Settlements are the points at which code went on, in their
// order; openings are what was begun and not settled. A checkpoint forgets both: code that is restored
// starts after it.

import type { TerminalStatus } from '../execution/execution.ts';
import type { Failure } from '../execution/failure.ts';
import type { EventKind, HistoryEvent } from '../execution/history.ts';
import type { CallKey, ExecutionId } from '../execution/names.ts';
import type { Instant } from '../support/clock.ts';

/** The fields of all bodies that concern calls; which are there follows from the kind. */
export interface CallBody {
  readonly key: CallKey;
  /** An envelope of the payload. */
  readonly out?: object;
  readonly failure?: Failure;
  readonly attempt?: number;
  readonly denied?: boolean;
  readonly retryInMs?: number;
  readonly ms?: number;
  readonly until?: number;
  readonly ids?: readonly ExecutionId[];
  readonly last?: boolean;
  readonly id?: ExecutionId;
  readonly status?: TerminalStatus;
  /** Which message of the inbox became this event. */
  readonly n?: number;
  readonly taken?: readonly number[];
  readonly abandoned?: boolean;
  /** Other calls that were under way then and had not been named before. */
  readonly with?: readonly CallKey[];
  readonly reason?: string;
  readonly state?: object;
  /** Delivered before it was durable (checkpoint policy): it did not move the execution's time. */
  readonly soft?: boolean;
}

export interface Settlement {
  readonly kind: EventKind;
  readonly body: CallBody;
  readonly at: Instant;
  readonly seq: number;
  /** In the run that made it: the value itself, which need not be read back. */
  readonly live?: { readonly value: unknown };
}

export interface Opening {
  readonly failed: number;
  readonly denied: number;
  /** Store time at which the next attempt, or the end of the sleep, is due. */
  readonly dueAt?: Instant;
  readonly ids: readonly ExecutionId[];
}

const NOTHING_BEGUN: Opening = Object.freeze({ failed: 0, denied: 0, ids: [] });

export class Ledger {
  /** Settlements of the current era, in order. */
  readonly settlements: Settlement[] = [];
  readonly openings: Map<CallKey, Opening> = new Map();
  /** Messages of the inbox that are history. */
  readonly taken: Set<number> = new Set();
  /** How many checkpoints there were: calls are counted anew after each. */
  era = 0;
  restored: object | undefined;
  /** The last owner that gave it back left steps running. */
  wasAbandoned = false;
  /** Calls that were under way when something else was settled: that they are not settled is no drift. */
  readonly begun: Set<CallKey> = new Set();
  /** The execution's own time where this era begins. */
  now: Instant;

  constructor(history: readonly HistoryEvent[], submittedAt: Instant) {
    this.now = submittedAt;
    for (const event of history) this.#read(event);
  }

  #read(event: HistoryEvent): void {
    switch (event.kind) {
      case 'step-completed':
      case 'timer-fired':
      case 'signal-received':
      case 'cancel-requested':
      case 'child-ended':
      case 'attached':
        this.#settle(event, bodyOf(event));
        return;
      case 'step-failed':
        this.#failed(event, bodyOf(event));
        return;
      case 'timer-set':
        this.#set(event, bodyOf(event));
        return;
      case 'child-spawned':
        this.#spawned(event, bodyOf(event));
        return;
      case 'given-back':
        this.wasAbandoned = bodyOf(event).abandoned === true;
        return;
      case 'paused':
        for (const n of bodyOf(event).taken ?? []) this.taken.add(n);
        return;
      case 'checkpointed':
        this.#restart(event, bodyOf(event));
        return;
      default:
    }
  }

  #settle(event: HistoryEvent, body: CallBody): void {
    if (body.n !== undefined) this.taken.add(body.n);
    for (const key of body.with ?? []) this.begun.add(key);
    this.openings.delete(body.key);
    this.settlements.push({ kind: event.kind, body, at: event.at, seq: event.seq });
  }

  #failed(event: HistoryEvent, body: CallBody): void {
    if (body.retryInMs === undefined) {
      this.#settle(event, body);
      return;
    }
    const before = this.openings.get(body.key) ?? NOTHING_BEGUN;
    this.openings.set(body.key, {
      ...before,
      failed: before.failed + (body.denied === true ? 0 : 1),
      denied: before.denied + (body.denied === true ? 1 : 0),
      dueAt: (event.at + body.retryInMs) as Instant,
    });
  }

  #set(event: HistoryEvent, body: CallBody): void {
    const dueAt = (body.until ?? event.at + (body.ms ?? 0)) as Instant;
    this.openings.set(body.key, { ...NOTHING_BEGUN, dueAt });
  }

  #spawned(event: HistoryEvent, body: CallBody): void {
    const before = this.openings.get(body.key) ?? NOTHING_BEGUN;
    const ids = [...before.ids, ...(body.ids ?? [])];
    if (body.last === true) this.#settle(event, { ...body, ids });
    else this.openings.set(body.key, { ...before, ids });
  }

  #restart(event: HistoryEvent, body: CallBody): void {
    this.settlements.length = 0;
    this.openings.clear();
    this.begun.clear();
    this.era += 1;
    this.restored = body.state ?? {};
    this.now = event.at;
  }
}

function bodyOf(event: HistoryEvent): CallBody {
  return JSON.parse(event.body ?? '{}') as CallBody;
}
