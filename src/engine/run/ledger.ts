// The history, arranged for a replay. Settlements are the points at which the code continued, in
// order. Openings are calls that began and did not settle. A checkpoint begins an era: restored
// code starts after it, and calls from before it no longer count.

import type { Previous } from '../../execution/decide/claim.ts';
import type { AttributeChanges, Attributes, TerminalStatus } from '../../execution/execution.ts';
import type { Failure } from '../../execution/failure.ts';
import {
  type HistoryEvent,
  type HistoryEventKind,
  NAMED_CALLS_MAX,
} from '../../execution/history.ts';
import { type CallKey, CLEANUP_CALL, type ExecutionId } from '../../execution/names.ts';
import type { Fence } from '../../lease/fence.ts';
import type { Instant } from '../../support/clock.ts';

/** The fields of all bodies about calls; the event's kind decides which ones are present. */
export interface CallBody {
  readonly key: CallKey;
  /** The envelope of a payload. */
  readonly out?: object;
  readonly failure?: Failure;
  readonly attempt?: number;
  readonly denied?: boolean;
  readonly retryInMs?: number;
  readonly ms?: number;
  readonly until?: number;
  readonly ids?: readonly ExecutionId[];
  readonly last?: boolean;
  /** The name of the children's pipeline, or `template` and the template's id. */
  readonly of?: string;
  readonly id?: ExecutionId;
  readonly status?: TerminalStatus;
  /** The number of the inbox message that became this event. */
  readonly n?: number;
  /** For updates: the token of the reply. */
  readonly update?: string;
  /** For awaits: the number of items, and when the await settled. */
  readonly items?: number;
  readonly settledAt?: Instant;
  readonly taken?: readonly number[];
  /** For lines that record a patch: its key. */
  readonly patch?: CallKey;
  /** For lines that record a change of attributes. */
  readonly attributes?: AttributesLine;
  /** For logged lines: code inside a step logged it, which a replay does not run. */
  readonly inside?: boolean;
  readonly abandoned?: boolean;
  /** Other calls that were under way then, if no earlier event named them. */
  readonly with?: readonly CallKey[];
  /** For parks: the first calls that the execution waited for. */
  readonly for?: readonly CallKey[];
  readonly reason?: string;
  readonly state?: object;
  /**
   * The code got it before it was durable (checkpoint policy), so it did not advance the
   * execution's time.
   */
  readonly soft?: boolean;
  /** For give-backs: the execution runs again, and this call that failed for good begins anew. */
  readonly why?: string;
  readonly redo?: CallKey;
  /** The code got it while it was being written, so its time is that of its end. */
  readonly ahead?: boolean;
  /** The step has a compensation (Y-1). */
  readonly saga?: boolean;
  /** For failed steps: an attempt may have had its effect. */
  readonly outcome?: 'unknown';
  /** For steps, and for people: when the attempt began, by the store's clock as the worker knew it. */
  readonly startedAt?: Instant;
  readonly tookMs?: number;
  /** For ends of blocks: the fence of the lease. */
  readonly fence?: Fence;
}

/** A change of attributes that the code made. */
export interface AttributesLine {
  readonly key: CallKey;
  readonly set: AttributeChanges;
  /** On the first line of an era: the attributes before it. */
  readonly before?: Attributes;
}

/** Why an execution undoes its steps: the body of `compensating` (Y-2). */
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
  /** In the run that produced it: the value itself, which saves reading it back. */
  readonly live?: { readonly value: unknown };
}

export interface Opening {
  /** The seq of the event that recorded it. */
  readonly seq: number;
  readonly failed: number;
  readonly denied: number;
  /** The store time at which the next attempt, or the end of the sleep, is due. */
  readonly dueAt?: Instant;
  readonly ids: readonly ExecutionId[];
  readonly of?: string;
  /** For awaits. */
  readonly items?: number;
}

/** The code made another call than the one that history has next. */
export interface Drift {
  readonly expected: string;
  readonly found: string;
  readonly seq: number;
  /** The error that the code threw instead. */
  readonly failure?: Failure;
}

export type MissingCall = Pick<Drift, 'expected' | 'seq'>;

/** Children end and operators cancel without a call of the code. */
export function needsCall(kind: Settlement['kind']): boolean {
  return kind !== 'child-ended' && kind !== 'cancel-requested';
}

/** No other call is under way. */
const ALONE: Pick<CallBody, 'with'> = Object.freeze({});

const NOTHING_BEGUN: Omit<Opening, 'seq'> = Object.freeze({ failed: 0, denied: 0, ids: [] });

/** Calls that the code has made, by key. */
type MadeCalls = ReadonlyMap<CallKey, unknown>;

/**
 * The time from one checkpoint to the next. It creates its sets on first use, because most
 * executions run only once and make one call at a time.
 */
class Era {
  /** The number of checkpoints so far; call numbers restart after each. */
  readonly number: number;
  /** The state with which the code restarts. */
  readonly restored: object | undefined;
  /** Number of awaits of each name before this era. */
  readonly awaitsBefore: ReadonlyMap<string, number> | undefined;
  openings: Map<CallKey, Opening> | undefined;
  /** Open in history, but the running code has not made the call yet. */
  missingOpen: Set<CallKey> | undefined;
  begun: Set<CallKey> | undefined;
  /** Patches that the code took. */
  patches: Set<CallKey> | undefined;
  /** Changes of attributes, and the attributes before the first of them. */
  attributes: Map<CallKey, { readonly set: AttributeChanges; readonly seq: number }> | undefined;
  attributesBefore: Attributes | undefined;
  /** Lines that the code logged since the last settlement; a replay logs them again. */
  logged = 0;
  /**
   * Calls made since an event last named others. Only these can be new, so the search stays short.
   */
  unnamed: CallKey[] | undefined;

  constructor(number: number, restored?: object, awaitsBefore?: ReadonlyMap<string, number>) {
    this.number = number;
    this.restored = restored;
    this.awaitsBefore = awaitsBefore;
  }

  forgetAttributesAfter(after: number): void {
    const { attributes = new Map() } = this;
    for (const [key, { seq }] of attributes) if (seq > after) attributes.delete(key);
  }
}

/** Steps that an execution has to undo, and those that it has undone. */
interface UndoState {
  /** Set while the execution undoes its steps (Y-2). */
  cause: Cause | undefined;
  /** The ends of the steps to undo, in order (Y-1). */
  readonly sagas: Settlement[];
  /** Compensations that ran, and decisions of operators. */
  readonly undone: Settlement[];
}

const NOTHING_TO_UNDO: UndoState = Object.freeze({ cause: undefined, sagas: [], undone: [] });

export class Ledger {
  /** Settlements of the current era, in order. */
  readonly settlements: Settlement[] = [];
  /**
   * The execution's own time: that of the last settlement that reached the code, or the start of
   * this era.
   */
  now: Instant;
  #era: Era = new Era(0);
  #undo: UndoState | undefined;
  /** The last owner gave the execution back while some of its steps were still running. */
  #wasAbandoned = false;
  #taken: Set<number> | undefined;
  /** The seq of the last event of earlier claims. */
  readonly #readTo: number;
  /** How often the whole execution was retried. */
  retries = 0;
  /** The last claims in a row that only parked or were given back. */
  idleParks = 0;
  /** Number of awaits of each name, in all eras. */
  #awaits: Map<string, number> | undefined;

  constructor(history: readonly HistoryEvent[], submittedAt: Instant) {
    this.now = submittedAt;
    for (const event of history) this.#read(event);
    this.#readTo = history.at(-1)?.seq ?? 0;
  }

  get era(): number {
    return this.#era.number;
  }

  get restored(): object | undefined {
    return this.#era.restored;
  }

  /** A settlement reaches the code and sets the time that the code sees. */
  advance({ body, at }: Pick<Settlement, 'body' | 'at'>): void {
    if (body.soft === true) return;
    if (body.ahead !== true) this.now = at;
    else {
      const { startedAt = at, tookMs = 0 } = body;
      this.now = Math.max(this.now, startedAt + tookMs) as Instant;
    }
  }

  /**
   * `before`: an earlier claim came past this place without the patch. `now`: no earlier claim came
   * further than the code has come now. Results of this claim have no seq, or a later one.
   */
  patchAt(key: CallKey, cursor: number): 'recorded' | 'now' | 'before' {
    if (this.#era.patches?.has(key) === true) return 'recorded';
    const { seq = 0 } = this.settlements[cursor] ?? {};
    const isBehind = seq > 0 && seq <= this.#readTo;
    return isBehind || this.lacksOpen ? 'before' : 'now';
  }

  notePatch(key: CallKey): void {
    this.#era.patches ??= new Set();
    this.#era.patches.add(key);
  }

  /** The attributes at the beginning of this era, if it has changed any. */
  get attributesBefore(): Attributes | undefined {
    return this.#era.attributesBefore;
  }

  /** The change that an earlier run of this call recorded. */
  attributesAt(key: CallKey): AttributeChanges | undefined {
    return this.#era.attributes?.get(key)?.set;
  }

  noteAttributes({ key, set, before }: AttributesLine, seq = 0): void {
    this.#era.attributes ??= new Map();
    this.#era.attributes.set(key, { set, seq });
    this.#era.attributesBefore ??= before;
  }

  openingOf(key: CallKey): Opening | undefined {
    return this.#era.openings?.get(key);
  }

  get cause(): Cause | undefined {
    return this.#undo?.cause;
  }

  get undoState(): Pick<UndoState, 'sagas' | 'undone'> {
    return this.#undo ?? NOTHING_TO_UNDO;
  }

  /** True if the history has this message of the inbox. */
  isTaken(n: number): boolean {
    return this.#taken?.has(n) === true;
  }

  take(n: number): void {
    this.#taken ??= new Set();
    this.#taken.add(n);
  }

  /** True if the call was under way when another settled. Then a missing settlement is no drift. */
  hasBegun(key: CallKey): boolean {
    return this.#era.begun?.has(key) === true;
  }

  begin(key: CallKey): void {
    this.#era.begun ??= new Set();
    this.#era.begun.add(key);
  }

  /** The code has made this call. */
  noteCall(key: CallKey, made: MadeCalls): void {
    const era = this.#era;
    era.missingOpen?.delete(key);
    if (made.size === 1) era.unnamed = undefined;
    else if (era.unnamed === undefined) era.unnamed = [...made.keys()];
    else era.unnamed.push(key);
  }

  /** A cancel has rejected all open calls, except those of cleanups. */
  noteCancel(): void {
    const { missingOpen = new Set() } = this.#era;
    for (const key of missingOpen) if (!key.startsWith(CLEANUP_CALL)) missingOpen.delete(key);
  }

  /** True if the execution has ever awaited anything. Its end must then close open awaits (W-9). */
  get hasAwaited(): boolean {
    return this.#awaits !== undefined;
  }

  /** Marks all other pending calls as begun and returns the new ones. Looks at each call once. */
  beginOthers(key: CallKey, made: MadeCalls): Pick<CallBody, 'with'> {
    if (made.size <= 1) return ALONE;
    const before = this.#era.unnamed ?? [];
    const unnamed: CallKey[] = [];
    this.#era.unnamed = unnamed;
    const others: CallKey[] = [];
    for (const other of before) {
      if (other === key) unnamed.push(key);
      else if (made.has(other) && !this.hasBegun(other)) {
        this.begin(other);
        others.push(other);
      }
    }
    return others.length === 0 ? ALONE : { with: others };
  }

  /**
   * Awaits keep their numbers over checkpoints, unlike other calls, because outsiders use the
   * number in the id.
   */
  awaitsBefore(call: string): number {
    return this.#era.awaitsBefore?.get(call) ?? 0;
  }

  noteAwait(key: CallKey): void {
    const mark = key.lastIndexOf('#');
    const call = key.slice(0, mark);
    this.#awaits ??= new Map();
    this.#awaits.set(call, Math.max(this.#awaits.get(call) ?? 0, Number(key.slice(mark + 1))));
  }

  /** True if history has the line that the code logs now. Call this once per line. */
  hasLogged(): boolean {
    this.#era.logged -= 1;
    return this.#era.logged >= 0;
  }

  /** The engine stops listening to the code, so its pending results and calls no longer matter. */
  forget(): void {
    this.settlements.length = 0;
    this.#era.missingOpen = undefined;
  }

  /** True if an earlier owner may have begun steps without recording their end. */
  mayHaveRun(previous: Previous): boolean {
    return previous === 'lost' || (previous === 'given-back' && this.#wasAbandoned);
  }

  /** Calls reuse the names of earlier eras, so nothing of those may stay. */
  beginEra(at: Instant, restored?: object): void {
    this.#era = new Era(this.era + 1, restored, this.#awaits && new Map(this.#awaits));
    this.now = at;
  }

  /** The keys of the calls that history settles, or undefined if there are none. */
  settledKeys(): Set<CallKey> | undefined {
    if (this.settlements.length === 0) return undefined;
    return new Set(this.settlements.map(({ body }) => body.key));
  }

  /**
   * True until the code has made every call that history has open. The run starts nothing new
   * before.
   */
  get lacksOpen(): boolean {
    return this.#era.missingOpen !== undefined && this.#era.missingOpen.size > 0;
  }

  /** The first call from `cursor` on, settled or open, that the code must make and has not made. */
  missingCall(cursor: number, made: MadeCalls): MissingCall | undefined {
    const settled = this.settlements
      .slice(cursor)
      .find(({ kind, body }) => needsCall(kind) && !made.has(body.key));
    if (settled !== undefined) return { expected: settled.body.key, seq: settled.seq };
    const [open] = this.#era.missingOpen ?? [];
    return open && { expected: open, seq: this.openingOf(open)?.seq ?? 0 };
  }

  /**
   * A drift: the code did not make the next settled call, and made another one that history does
   * not know.
   */
  driftAt(cursor: number, made: MadeCalls): Drift | undefined {
    const next = this.settlements[cursor];
    if (next !== undefined && (!needsCall(next.kind) || made.has(next.body.key))) return undefined;
    const missingCall = this.missingCall(cursor, made);
    const keys = [...made.keys()];
    const found =
      next === undefined
        ? (keys.find((key) => this.openingOf(key) === undefined) ?? keys[0])
        : keys.find((key) => !this.hasBegun(key));
    return missingCall && found && { ...missingCall, found };
  }

  #open({ seq }: HistoryEvent, key: CallKey, opening: Opening | typeof NOTHING_BEGUN): void {
    this.#era.openings ??= new Map();
    this.#era.openings.set(key, { seq, ...opening });
    // The code does not make the calls of compensations.
    if (this.cause === undefined)
      this.#era.missingOpen = (this.#era.missingOpen ?? new Set()).add(key);
  }

  #read(event: HistoryEvent): void {
    if (event.kind === 'parked' || event.kind === 'given-back') this.idleParks += 1;
    else if (event.kind !== 'claimed') this.idleParks = 0;
    switch (event.kind) {
      case 'step-completed':
      case 'timer-fired':
      case 'signal-received':
      case 'cancel-requested':
      case 'child-ended':
      case 'attached':
      case 'lease-ended':
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
        this.#retried(bodyOf(event));
        return;
      case 'paused':
        this.#takeAll(bodyOf(event));
        return;
      case 'compensating':
        this.#openUndo().cause = JSON.parse(event.body ?? '{}') as Cause;
        return;
      case 'progressed':
        this.#noted(event, bodyOf(event));
        return;
      case 'checkpointed':
        this.#restart(event, bodyOf(event));
        return;
      default:
    }
  }

  #noted({ seq }: HistoryEvent, { patch, attributes, inside }: CallBody): void {
    if (patch !== undefined) this.notePatch(patch);
    else if (attributes !== undefined) this.noteAttributes(attributes, seq);
    else if (inside !== true) this.#era.logged += 1;
  }

  #retried({ why, redo }: CallBody): void {
    if (why !== RETRYING) return;
    this.retries += 1;
    const index = this.settlements.findIndex((each) => isFailureOf(each, redo));
    const [failed] = index < 0 ? [] : this.settlements.splice(index, 1);
    if (failed === undefined) return;
    // The next attempt logs and changes attributes again.
    this.#era.logged = 0;
    this.#era.forgetAttributesAfter(failed.seq);
  }

  /**
   * The call that a retry of the execution begins anew: the one that failed for good, if that ended
   * the code. Undefined if the code made other calls after the failure: their results would not fit a
   * success.
   */
  redoOf(failedAt: CallKey | undefined): { readonly redo?: CallKey } | undefined {
    const index = this.settlements.findLastIndex(
      ({ kind, body }) => kind === 'step-failed' && (failedAt ?? body.key) === body.key,
    );
    const failed = this.settlements[index];
    if (failed === undefined) return {};
    const begun = new Set(
      this.settlements.slice(0, index + 1).flatMap(({ body }) => body.with ?? []),
    );
    const isLater = (key: CallKey): boolean => !begun.has(key);
    const settledLater = this.settlements
      .slice(index + 1)
      .some(({ kind, body }) => needsCall(kind) && isLater(body.key));
    const openedLater = [...(this.#era.openings ?? [])].some(
      ([key, { seq }]) => seq > failed.seq && isLater(key),
    );
    if (!settledLater && !openedLater) return { redo: failed.body.key };
    // Code that threw an error of its own may not have failed because of that step.
    return failedAt === undefined ? {} : undefined;
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

  /**
   * The event names all open calls, unless there were too many. A pending receive has no other
   * record.
   */
  #parked(event: HistoryEvent, { for: keys = [] }: CallBody): void {
    if (keys.length < NAMED_CALLS_MAX) this.#era.missingOpen = undefined;
    for (const key of keys) this.#open(event, key, this.openingOf(key) ?? NOTHING_BEGUN);
  }

  #settle(event: HistoryEvent, body: CallBody): void {
    if (body.n !== undefined) this.take(body.n);
    for (const key of body.with ?? []) this.begin(key);
    this.#era.openings?.delete(body.key);
    this.#era.missingOpen?.delete(body.key);
    const settlement = { kind: event.kind, body, at: event.at, seq: event.seq };
    if (this.cause !== undefined) {
      this.#openUndo().undone.push(settlement);
      return;
    }
    if (body.saga === true) this.#registered(settlement);
    this.settlements.push(settlement);
    this.#era.logged = 0;
  }

  /** A step that a retry began anew registers its compensation once, at its last end. */
  #registered(settlement: Settlement): void {
    const { sagas } = this.#openUndo();
    const before = sagas.findIndex(({ body }) => body.key === settlement.body.key);
    if (before >= 0) sagas.splice(before, 1);
    sagas.push(settlement);
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

  #openUndo(): UndoState {
    this.#undo ??= { cause: undefined, sagas: [], undone: [] };
    return this.#undo;
  }
}

/** Why an owner gives an execution back whose code failed, to run it again. */
export const RETRYING = 'retrying';

function isFailureOf({ kind, body }: Settlement, key: CallKey | undefined): boolean {
  return kind === 'step-failed' && body.key === key;
}

function bodyOf(event: HistoryEvent): CallBody {
  return JSON.parse(event.body ?? '{}') as CallBody;
}
