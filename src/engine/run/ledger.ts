// History, arranged for a replay. Settlements are the points at which code went on, in their order; openings are
// calls that were begun and not settled. A checkpoint begins an era: restored code starts after it, and no call
// that was open before it counts.

import type { Previous } from '../../execution/decide/claim.ts';
import type { TerminalStatus } from '../../execution/execution.ts';
import type { Failure } from '../../execution/failure.ts';
import {
  type HistoryEvent,
  type HistoryEventKind,
  NAMED_CALLS_MAX,
} from '../../execution/history.ts';
import type { CallKey, ExecutionId } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';

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
  /** The pipeline of the children, or `template` and its id. */
  readonly of?: string;
  readonly id?: ExecutionId;
  readonly status?: TerminalStatus;
  /** Which message of the inbox became this event. */
  readonly n?: number;
  /** For awaits: the number of items, and when it settled. */
  readonly items?: number;
  readonly settledAt?: Instant;
  readonly taken?: readonly number[];
  /** For logged lines: by code of a step, which a replay does not run. */
  readonly inside?: boolean;
  readonly abandoned?: boolean;
  /** Other calls that were under way then and had not been named before. */
  readonly with?: readonly CallKey[];
  /** For parks: the first calls that it waited for. */
  readonly for?: readonly CallKey[];
  readonly reason?: string;
  readonly state?: object;
  /** Delivered before it was durable (checkpoint policy): it did not move the execution's time. */
  readonly soft?: boolean;
  /** The step has a compensation (Y-1). */
  readonly saga?: boolean;
  /** For failed steps: an attempt may have had its effect. */
  readonly outcome?: 'unknown';
}

/** Why an execution undoes what it did: the body of `compensating` (Y-2). */
export interface Cause {
  readonly status: 'failed' | 'cancelled';
  readonly failure?: Failure;
  /** The actor that cancelled it, and the reason. */
  readonly asked?: object;
}

export interface Settlement {
  readonly kind: HistoryEventKind;
  readonly body: CallBody;
  readonly at: Instant;
  readonly seq: number;
  /** In the run that made it: the value itself, which need not be read back. */
  readonly live?: { readonly value: unknown };
}

export interface Opening {
  /** The event that recorded it. */
  readonly seq: number;
  readonly failed: number;
  readonly denied: number;
  /** Store time at which the next attempt, or the end of the sleep, is due. */
  readonly dueAt?: Instant;
  readonly ids: readonly ExecutionId[];
  readonly of?: string;
  /** For awaits. */
  readonly items?: number;
}

/** The code asked for another call than history has next. */
export interface Drift {
  readonly expected: string;
  readonly found: string;
  readonly seq: number;
}

export type Unasked = Omit<Drift, 'found'>;

/** Children end and operators cancel whether or not the code has asked. */
export function needsCall(kind: Settlement['kind']): boolean {
  return kind !== 'child-ended' && kind !== 'cancel-requested';
}

/** No other call is under way. */
const ALONE: Pick<CallBody, 'with'> = Object.freeze({});

const NOTHING_BEGUN: Omit<Opening, 'seq'> = Object.freeze({ failed: 0, denied: 0, ids: [] });

/** Calls that the code has made, by their key. */
type Asked = ReadonlyMap<CallKey, unknown>;

/** From one checkpoint to the next. Its sets are made when something is put into them: most executions run once and alone. */
class Era {
  /** How many checkpoints there were: calls are counted anew after each. */
  readonly number: number;
  /** The state that code is restored with. */
  readonly restored: object | undefined;
  /** How often each was awaited before this era. */
  readonly awaitsBefore: ReadonlyMap<string, number> | undefined;
  openings: Map<CallKey, Opening> | undefined;
  /** Open in history, and not asked for yet by the code that runs now. */
  unaskedOpen: Set<CallKey> | undefined;
  begun: Set<CallKey> | undefined;
  /** Lines that the code has logged since the last settlement, and will log again. */
  logged = 0;
  /** Asked for since others were last named: of any number under way only these can be new. */
  unnamed: CallKey[] | undefined;

  constructor(number: number, restored?: object, awaitsBefore?: ReadonlyMap<string, number>) {
    this.number = number;
    this.restored = restored;
    this.awaitsBefore = awaitsBefore;
  }
}

/** Steps that an execution has to undo, and those that it has undone. */
interface WayBack {
  /** Set while it undoes (Y-2). */
  cause: Cause | undefined;
  /** The ends of steps that are to be undone, in their order (Y-1). */
  readonly sagas: Settlement[];
  /** Compensations that have run, and acts of operators. */
  readonly undone: Settlement[];
}

const NOTHING_TO_UNDO: WayBack = Object.freeze({ cause: undefined, sagas: [], undone: [] });

export class Ledger {
  /** Settlements of the current era, in order. */
  readonly settlements: Settlement[] = [];
  /** The execution's own time: of the last settlement that reached the code, or where this era begins. */
  now: Instant;
  #era: Era = new Era(0);
  #back: WayBack | undefined;
  /** The last owner that gave it back left steps running. */
  #wasAbandoned = false;
  #taken: Set<number> | undefined;
  /** How often each was awaited, in all. */
  #awaits: Map<string, number> | undefined;

  constructor(history: readonly HistoryEvent[], submittedAt: Instant) {
    this.now = submittedAt;
    for (const event of history) this.#read(event);
  }

  get era(): number {
    return this.#era.number;
  }

  get restored(): object | undefined {
    return this.#era.restored;
  }

  openingOf(key: CallKey): Opening | undefined {
    return this.#era.openings?.get(key);
  }

  get cause(): Cause | undefined {
    return this.#back?.cause;
  }

  get wayBack(): Pick<WayBack, 'sagas' | 'undone'> {
    return this.#back ?? NOTHING_TO_UNDO;
  }

  /** Whether a message of the inbox is history. */
  isTaken(n: number): boolean {
    return this.#taken?.has(n) === true;
  }

  take(n: number): void {
    this.#taken ??= new Set();
    this.#taken.add(n);
  }

  /** Whether the call was under way when something else was settled: that it is not settled is no drift. */
  hasBegun(key: CallKey): boolean {
    return this.#era.begun?.has(key) === true;
  }

  begin(key: CallKey): void {
    this.#era.begun ??= new Set();
    this.#era.begun.add(key);
  }

  /** The code has asked for this one, too. */
  ask(key: CallKey, asked: Asked): void {
    const era = this.#era;
    era.unaskedOpen?.delete(key);
    if (asked.size === 1) era.unnamed = undefined;
    else if (era.unnamed === undefined) era.unnamed = [...asked.keys()];
    else era.unnamed.push(key);
  }

  /** It has awaited something, now or before: its end must look for awaits that are open (W-9). */
  get hasAwaited(): boolean {
    return this.#awaits !== undefined;
  }

  /** All that were asked for but this one, as far as they were not begun before. Each is looked at once. */
  beginOthers(key: CallKey, asked: Asked): Pick<CallBody, 'with'> {
    if (asked.size <= 1) return ALONE;
    const asking = this.#era.unnamed ?? [];
    const unnamed: CallKey[] = [];
    this.#era.unnamed = unnamed;
    const others: CallKey[] = [];
    for (const other of asking) {
      if (other === key) unnamed.push(key);
      else if (asked.has(other) && !this.hasBegun(other)) {
        this.begin(other);
        others.push(other);
      }
    }
    return others.length === 0 ? ALONE : { with: others };
  }

  /** Unlike other calls, awaits are counted on over checkpoints: outsiders name them by their number. */
  awaitsBefore(call: string): number {
    return this.#era.awaitsBefore?.get(call) ?? 0;
  }

  noteAwait(key: CallKey): void {
    const mark = key.lastIndexOf('#');
    const call = key.slice(0, mark);
    this.#awaits ??= new Map();
    this.#awaits.set(call, Math.max(this.#awaits.get(call) ?? 0, Number(key.slice(mark + 1))));
  }

  /** Whether the line that the code logs now is in history. Called once for each. */
  hasLogged(): boolean {
    this.#era.logged -= 1;
    return this.#era.logged >= 0;
  }

  /** The code is not listened to any more: neither what it was told nor what it asks for matters. */
  forget(): void {
    this.settlements.length = 0;
    this.#era.unaskedOpen = undefined;
  }

  /** Steps may have been begun by an owner before this one that did not see them end. */
  mayHaveRun(previous: Previous): boolean {
    return previous === 'lost' || (previous === 'given-back' && this.#wasAbandoned);
  }

  /** Calls have the names again that others had before: nothing of those is left. */
  beginEra(at: Instant, restored?: object): void {
    this.#era = new Era(this.era + 1, restored, this.#awaits && new Map(this.#awaits));
    this.now = at;
  }

  /** Calls that history settles; undefined when there are none. */
  settledKeys(): Set<CallKey> | undefined {
    if (this.settlements.length === 0) return undefined;
    return new Set(this.settlements.map(({ body }) => body.key));
  }

  /** True until the code has asked for everything that history has open: nothing new is started before. */
  get lacksOpen(): boolean {
    return this.#era.unaskedOpen !== undefined && this.#era.unaskedOpen.size > 0;
  }

  /** The first call from `cursor` on, settled or open, that code would have to ask for and has not. */
  unasked(cursor: number, asked: Asked): Unasked | undefined {
    const settled = this.settlements
      .slice(cursor)
      .find(({ kind, body }) => needsCall(kind) && !asked.has(body.key));
    if (settled !== undefined) return { expected: settled.body.key, seq: settled.seq };
    const [open] = this.#era.unaskedOpen ?? [];
    return open && { expected: open, seq: this.openingOf(open)?.seq ?? 0 };
  }

  /** The next settlement is not among the calls of the code, and not all of those were begun before. */
  driftAt(cursor: number, asked: Asked): Drift | undefined {
    const next = this.settlements[cursor];
    if (next !== undefined && (!needsCall(next.kind) || asked.has(next.body.key))) return undefined;
    const unasked = this.unasked(cursor, asked);
    const keys = [...asked.keys()];
    const found =
      next === undefined
        ? (keys.find((key) => this.openingOf(key) === undefined) ?? keys[0])
        : keys.find((key) => !this.hasBegun(key));
    return unasked && found && { ...unasked, found };
  }

  #open({ seq }: HistoryEvent, key: CallKey, opening: Opening | typeof NOTHING_BEGUN): void {
    this.#era.openings ??= new Map();
    this.#era.openings.set(key, { seq, ...opening });
    // The code does not ask for compensations.
    if (this.cause === undefined)
      this.#era.unaskedOpen = (this.#era.unaskedOpen ?? new Set()).add(key);
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
      case 'await-opened':
        this.#openedAwait(event, bodyOf(event));
        return;
      case 'await-settled':
        this.noteAwait(bodyOf(event).key);
        this.#settle(event, bodyOf(event));
        return;
      case 'parked':
        this.#parked(event, bodyOf(event));
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
        this.#wasAbandoned = bodyOf(event).abandoned === true;
        this.#takeAll(bodyOf(event));
        return;
      case 'paused':
        this.#takeAll(bodyOf(event));
        return;
      case 'compensating':
        this.#turnBack().cause = JSON.parse(event.body ?? '{}') as Cause;
        return;
      case 'progressed':
        if (bodyOf(event).inside !== true) this.#era.logged += 1;
        return;
      case 'checkpointed':
        this.#restart(event, bodyOf(event));
        return;
      default:
    }
  }

  #takeAll({ taken }: CallBody): void {
    for (const n of taken ?? []) this.take(n);
  }

  #openedAwait(event: HistoryEvent, body: CallBody): void {
    const { key, ms, items = 0 } = body;
    this.noteAwait(key);
    const due = ms === undefined ? {} : { dueAt: (event.at + ms) as Instant };
    this.#open(event, key, { ...NOTHING_BEGUN, ...due, items });
  }

  /** It names all that was open then, unless that were too many. Signals have no other record. */
  #parked(event: HistoryEvent, { for: keys = [] }: CallBody): void {
    if (keys.length < NAMED_CALLS_MAX) this.#era.unaskedOpen = undefined;
    for (const key of keys) this.#open(event, key, this.openingOf(key) ?? NOTHING_BEGUN);
  }

  #settle(event: HistoryEvent, body: CallBody): void {
    if (body.n !== undefined) this.take(body.n);
    for (const key of body.with ?? []) this.begin(key);
    this.#era.openings?.delete(body.key);
    this.#era.unaskedOpen?.delete(body.key);
    const settlement = { kind: event.kind, body, at: event.at, seq: event.seq };
    if (this.cause !== undefined) {
      this.#turnBack().undone.push(settlement);
      return;
    }
    if (body.saga === true) this.#turnBack().sagas.push(settlement);
    this.settlements.push(settlement);
    this.#era.logged = 0;
  }

  #failed(event: HistoryEvent, body: CallBody): void {
    if (body.retryInMs === undefined) {
      this.#settle(event, body);
      return;
    }
    const before = this.openingOf(body.key) ?? NOTHING_BEGUN;
    this.#open(event, body.key, {
      ...before,
      failed: before.failed + (body.denied === true ? 0 : 1),
      denied: before.denied + (body.denied === true ? 1 : 0),
      dueAt: (event.at + body.retryInMs) as Instant,
    });
  }

  #set(event: HistoryEvent, body: CallBody): void {
    const dueAt = (body.until ?? event.at + (body.ms ?? 0)) as Instant;
    this.#open(event, body.key, { ...NOTHING_BEGUN, dueAt });
  }

  #spawned(event: HistoryEvent, body: CallBody): void {
    const before = this.openingOf(body.key) ?? NOTHING_BEGUN;
    const { of } = body;
    const ids = [...before.ids, ...(body.ids ?? [])];
    if (body.last === true) this.#settle(event, { ...body, ids });
    else this.#open(event, body.key, { ...before, ids, ...(of === undefined ? {} : { of }) });
  }

  #restart(event: HistoryEvent, body: CallBody): void {
    this.settlements.length = 0;
    this.beginEra(event.at, body.state ?? {});
  }

  #turnBack(): WayBack {
    this.#back ??= { cause: undefined, sagas: [], undone: [] };
    return this.#back;
  }
}

function bodyOf(event: HistoryEvent): CallBody {
  return JSON.parse(event.body ?? '{}') as CallBody;
}
