// One claimed execution in this process: runs the pipeline's code, gives it back what history has, and
// records what is new, until the execution ends, waits, or leaves this worker.
//
//   code ──▶ call ──▶ recorded? ──yes──▶ settle, in the order of history ──▶ code goes on
//                        │no
//                        └──▶ start ──▶ journal (durable) ──▶ settle ──▶ code goes on
//
//   - Settlements reach the code one at a time, and the code comes to rest before the next: the first
//     run and every replay see the same order, also where calls race each other.
//   - While history is not used up nothing new is started. Code that asks for something else than what
//     history has next has drifted: the execution is blocked and says so; nothing is guessed.

import type { CallKey } from '../execution/names.ts';
import type { Session } from '../lease/live-session.ts';
import type { Claimed } from '../store/contract/execution-store.ts';
import { type Instant, toInstant } from '../support/clock.ts';
import type { Call } from './call.ts';
import type { WorkerConfig } from './config.ts';
import { ExecutionCancelled } from './failures.ts';
import { Inbox } from './inbox.ts';
import { refuseInside } from './inside-step.ts';
import { Journal } from './journal.ts';
import type { JournalEvents } from './journal-events.ts';
import { LazyAbort } from './lazy-abort.ts';
import { type Drift, type Ledger, needsCall, type Settlement, type Unasked } from './ledger.ts';
import type { AnyPipeline } from './pipeline.ts';
import { type ExpectedPlace, INPUT, type Place, scheduleOwner } from './place.ts';
import type { ProjectPayloads } from './project-payloads.ts';
import { after, isPastDeadline, Quiet, safely } from './quiet.ts';
import { Saga } from './saga.ts';

/** How a run ends, for its worker to act on. */
export interface RunEvents {
  /** Nothing runs and everything waits: the execution can be parked. */
  idle(): void;
  drifted(drift: Drift): void;
  lost(reason: Error): void;
  /** The store can never take what was to be recorded. */
  rejected(fault: unknown): void;
  /** A mistake of ours, or a store that is broken. */
  troubled(error: unknown): void;
}

export class Run implements JournalEvents {
  readonly config: WorkerConfig;
  readonly claimed: Claimed;
  readonly session: Session;
  readonly pipeline: AnyPipeline;
  readonly payloads: ProjectPayloads;
  readonly journal: Journal;
  readonly ledger: Ledger;
  readonly calls: Map<CallKey, Call> = new Map();
  /** The execution's own time: of the last settlement that reached the code. */
  now: Instant;
  /** Steps were begun under a claim that was lost, so the first ones now may have run before. */
  mayHaveRun: boolean;
  /** The code has returned or thrown, or the claim is over: nothing is delivered any more. */
  isOver = false;
  /** Nothing new is started: the worker is stopping, or the execution is to be paused. */
  isHeld = false;
  cancelled: ExecutionCancelled | undefined;
  /** Pieces of user code that run now; while any does, the execution stays here. */
  activeSteps = 0;
  linesLogged = 0;
  /** The last call that failed for good, for who asks why the execution did. */
  failedCall: { readonly key: CallKey; readonly attempts: number } | undefined;
  /** It has opened awaits, now or before: its end must look for those that are open (W-9). */
  hasAwaited: boolean;
  /** The code is only replayed, to learn how its steps are undone: nothing new is started. */
  isFrozen: boolean;
  readonly events: RunEvents;
  #inbox: Inbox | undefined;
  #stop: LazyAbort | undefined;
  #saga: Saga | undefined;
  #quiet: Quiet | undefined;
  readonly #claimedTick: number;
  /** Calls that history settles and that were not given to the code yet. */
  readonly #known: Set<CallKey> | undefined;
  #cursor = 0;
  #deferred: Call[] = [];
  #isResting = false;
  #fetching = 0;
  #isUndoing = false;
  #cancelDrift: (() => void) | undefined;

  constructor(
    config: WorkerConfig,
    claim: {
      readonly claimed: Claimed;
      readonly pipeline: AnyPipeline;
      readonly ledger: Ledger;
      readonly session: Session;
    },
    events: RunEvents,
  ) {
    this.config = config;
    this.claimed = claim.claimed;
    this.session = claim.session;
    this.pipeline = claim.pipeline;
    this.payloads = config.payloads.of(claim.claimed.execution.project);
    this.ledger = claim.ledger;
    this.now = claim.ledger.now;
    this.mayHaveRun = claim.ledger.mayHaveRun(claim.claimed.previous);
    this.hasAwaited = claim.ledger.hasAwaited;
    this.isFrozen = claim.ledger.cause !== undefined;
    this.events = events;
    this.#claimedTick = config.clock.monotonicMs();
    this.#known = claim.ledger.settledKeys();
    this.journal = new Journal(config, claim.claimed, {
      session: claim.session,
      over: claim.session.signal,
      events: this,
    });
  }

  /** Made when there is something in it, or somebody asks for what may come. */
  get inbox(): Inbox {
    this.#inbox ??= new Inbox(this);
    return this.#inbox;
  }

  get isReadingInbox(): boolean {
    return this.#inbox?.isReading === true;
  }

  /** What there is to undo; made when the first step that can be undone is asked for. */
  get saga(): Saga {
    this.#saga ??= new Saga(this.ledger);
    return this.#saga;
  }

  /** Aborts when the claim is over or the execution is cancelled. */
  get stop(): LazyAbort {
    this.#stop ??= new LazyAbort();
    return this.#stop;
  }

  get isReplaying(): boolean {
    return this.#cursor < this.ledger.settlements.length;
  }

  /** Everything of history that the code has asked for was given to it; the rest nobody asked for. */
  get unasked(): Unasked | undefined {
    return this.cancelled === undefined ? this.ledger.unasked(this.#cursor, this.calls) : undefined;
  }

  /** Messages of the inbox that are history and have not reached the code. */
  get undelivered(): readonly number[] {
    return this.ledger.settlements.slice(this.#cursor).flatMap(({ body }) => body.n ?? []);
  }

  /** Store time as far as this process can tell; for waits only, nothing is decided by it. */
  storeNow(): Instant {
    const elapsed = this.config.clock.monotonicMs() - this.#claimedTick;
    return toInstant(this.claimed.claimedAt + elapsed);
  }

  /** A call of the code; of one that is not listened to any more, nothing becomes. */
  enter(call: Call): void {
    if (!this.#isUndoing) this.admit(call);
  }

  admit(call: Call): void {
    this.#quiet?.disturb();
    const refusal = refuseInside(this, call.key) ?? this.cancelled;
    if (refusal !== undefined) {
      call.reject(refusal);
      return;
    }
    this.calls.set(call.key, call);
    this.ledger.ask(call.key, this.calls);
    if (this.isOver) return;
    call.look?.();
    if (!this.calls.has(call.key)) return;
    if (this.#known?.has(call.key) === true) {
      this.#pump();
    } else if (this.isReplaying || this.#startsNothing) {
      this.#deferred.push(call);
      if (this.isFrozen) this.rest();
      this.#watchForDrift();
    } else if (this.#deferred.length === 0) {
      call.start(this.ledger.openingOf(call.key));
    } else {
      // What was asked for first starts first: of two receives it gets the first message.
      this.#deferred.push(call);
      this.config.timers.soon(this.#rested);
    }
  }

  get #startsNothing(): boolean {
    return this.isHeld || this.isFrozen || this.ledger.lacksOpen || isPastDeadline(this);
  }

  /** Something durable has happened that lets the code go on. */
  settle(settlement: Settlement): void {
    if (this.isOver || this.cancelled !== undefined) return;
    this.ledger.settlements.push(settlement);
    this.#pump();
  }

  /** Stable over attempts, takeovers and re-drives. */
  idempotencyKey(key: CallKey): string {
    return `${this.claimed.execution.lineage}/${this.ledger.era}/${key}`;
  }

  /** Where what it records belongs, for codecs. Re-drives share it, as they share history. */
  placeOf(position: string): Place {
    return { owner: this.claimed.execution.lineage, position };
  }

  placeOfCall(key: CallKey): Place {
    return this.placeOf(`${this.ledger.era}/${key}`);
  }

  expectedAt(position: string): ExpectedPlace {
    return { owners: [this.claimed.execution.lineage], position };
  }

  expectedCall(key: CallKey): ExpectedPlace {
    return this.expectedAt(`${this.ledger.era}/${key}`);
  }

  /** What the engine asks of workers comes from where there is no codec. */
  get expectedInput(): ExpectedPlace {
    const { lineage, scheduled, pipeline } = this.claimed.execution;
    const schedules = scheduled === undefined ? [] : [scheduleOwner(scheduled.id)];
    const isOpen = pipeline.startsWith('holdfast.');
    return { owners: [lineage, ...schedules], position: INPUT, isOpen };
  }

  /**
   * Which other calls are under way, for the event that settles this one; each is named once. Without it a
   * replay could not tell a step that was cut off from one that history does not know.
   */
  under(key: CallKey): readonly CallKey[] | undefined {
    return this.calls.size <= 1 ? undefined : this.ledger.beginOthers(key, this.calls);
  }

  /** A checkpoint is durable: calls are counted anew from here. */
  beginEra(at: Instant): void {
    this.ledger.beginEra();
    this.now = at;
    this.mayHaveRun = false;
  }

  /** The short way of `settle` for what nothing else stands before: true when the call may resolve now. */
  settlesAtOnce(call: Call, at: Instant): boolean {
    if (this.isOver || this.cancelled !== undefined || this.#isResting) return false;
    if (this.ledger.settlements.length > 0 || this.isReadingInbox) return false;
    if (!this.calls.delete(call.key)) return false;
    this.#quiet?.disturb();
    this.now = at;
    this.#comeToRest();
    return true;
  }

  /** A piece of user code begins or ends; while any runs the execution stays here. */
  active(change: 1 | -1): void {
    this.activeSteps += change;
    this.#quiet?.disturb();
    if (change === -1) this.written();
  }

  /** As the journal tells: the inbox has this many messages. */
  news(news: number): void {
    if (news > 0) this.inbox.notice(news);
  }

  /** Something is durable, or has ended. Without a call that waits there is nothing to park for. */
  written(): void {
    if (this.calls.size > 0 || this.isHeld) this.rest();
  }

  /** The inbox has been read: what waited for that goes on. */
  goOn(): void {
    this.#pump();
    this.rest();
  }

  /** Looks, once the code has come to rest, whether there is anything left to do here. */
  rest(): void {
    if (this.isOver) return;
    this.#quiet ??= new Quiet(this, () => this.#atRest());
    this.#quiet.look();
  }

  /** From here on nothing new is started; what runs may finish. */
  hold(): void {
    this.isHeld = true;
    this.rest();
  }

  cancel(reason: string): void {
    if (this.cancelled !== undefined) return;
    this.cancelled = new ExecutionCancelled(reason);
    this.stop.abort(this.cancelled);
    const calls = [...this.calls.values()];
    this.calls.clear();
    this.#deferred = [];
    for (const call of calls) call.reject(this.cancelled);
  }

  rejected(fault: unknown): void {
    this.events.rejected(fault);
  }

  /** The claim is over: nothing can be written any more. */
  lost(reason: Error): void {
    if (this.isOver) return;
    this.over();
    this.stop.abort(reason);
    this.events.lost(reason);
  }

  /** Y-4: the code has been heard; from here on calls are those that undo, and it is not listened to. */
  beginUndoing(): void {
    this.isFrozen = false;
    this.#isUndoing = true;
    this.cancelled = undefined;
    this.#stop = undefined;
    this.calls.clear();
    this.#deferred = [];
    this.#known?.clear();
    this.ledger.forget();
    this.#cursor = 0;
    this.#cancelDrift?.();
  }

  troubled(error: unknown): void {
    this.events.troubled(error);
  }

  /** The code is done, or nobody listens to it any more. */
  over(): void {
    this.isOver = true;
    this.#cancelDrift?.();
    this.journal.stopWaiting();
    for (const call of this.calls.values()) call.leave?.();
  }

  #atRest(): void {
    if (this.isOver || this.activeSteps > 0 || this.isReplaying) return;
    const isWaiting =
      this.calls.size > 0 && [...this.calls.values()].every((call) => call.waits !== undefined);
    const isFree = !this.isHeld && !this.isFrozen;
    if (isWaiting && isFree && this.unasked !== undefined) this.#watchForDrift();
    else if (isWaiting || !isFree) this.events.idle();
    else this.journal.flush();
  }

  #pump(): void {
    if (this.#isResting || this.isOver || this.isReadingInbox) return;
    const { settlements } = this.ledger;
    const settlement = settlements[this.#cursor];
    if (settlement === undefined) return;
    const call = this.calls.get(settlement.body.key);
    if (call === undefined && needsCall(settlement.kind) && this.cancelled === undefined) {
      this.#watchForDrift();
      return;
    }
    this.#cursor += 1;
    this.#quiet?.disturb();
    this.#cancelDrift?.();
    this.#known?.delete(settlement.body.key);
    if (settlement.body.soft !== true) this.now = settlement.at;
    if (call !== undefined && settlement.kind !== 'child-ended') this.calls.delete(call.key);
    if (settlement.kind === 'cancel-requested') this.cancel(settlement.body.reason ?? '');
    else if (settlement.kind === 'child-ended') this.inbox.childEnded(settlement);
    else this.deliverAfter(call?.settle(settlement));
    if (this.#cursor === settlements.length) {
      // Used up: what was delivered is not kept, or a long execution would hold all its results.
      settlements.length = 0;
      this.#cursor = 0;
      if (this.isHeld) this.rest();
    }
    this.#comeToRest();
  }

  /**
   * The code reacts to one settlement before it gets the next, in the first run as in every replay. When
   * history is used up and no call is left, nothing can be settled before the code has asked again.
   */
  #comeToRest(): void {
    if (this.calls.size === 0 && !this.isReplaying && this.#fetching === 0) return;
    this.#isResting = true;
    this.config.timers.soon(this.#rested);
  }

  /** Values that are fetched reach the code in the order of history too. */
  deliverAfter(fetching: void | Promise<void>): void {
    if (fetching === undefined) return;
    this.#fetching += 1;
    const fetched = (): void => {
      this.#fetching -= 1;
      this.config.timers.soon(this.#rested);
    };
    fetching.then(fetched, fetched);
  }

  readonly #rested = (): void => {
    if (this.#fetching > 0) return;
    this.#isResting = false;
    safely(this, () => (this.isReplaying ? this.#pump() : this.#startDeferred()));
  };

  #startDeferred(): void {
    if (this.isOver || this.#startsNothing) return;
    const deferred = this.#deferred;
    this.#deferred = [];
    for (const call of deferred) {
      if (this.calls.get(call.key) === call) call.start(this.ledger.openingOf(call.key));
    }
  }

  /** Only code that has asked for something while history has something else next can have drifted. */
  #watchForDrift(): void {
    this.#cancelDrift?.();
    if (this.calls.size === 0 || (!this.isReplaying && this.unasked === undefined)) return;
    this.#cancelDrift = after(this, this.config.driftGraceMs, () => {
      if (this.isOver || this.isHeld) return;
      const drift = this.ledger.driftAt(this.#cursor, this.calls);
      if (drift !== undefined) this.events.drifted(drift);
      else this.rest();
    });
  }
}
