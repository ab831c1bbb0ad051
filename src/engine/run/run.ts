// One claimed execution in this process: runs the pipeline's code, gives it back what history has, and
// records what is new, until the execution ends, waits, or leaves this worker.
//
//   code ──▶ enter ──▶ answered from history? ──yes──▶ settle, in the order of history ──▶ code goes on
//                        │no
//                        └──▶ start ──▶ journal (durable) ──▶ settle ──▶ code goes on
//
// Which of these comes next is `settling.ts`; the stations of a step, one by one, are in `calls/step.ts`.
//
//   phase       listens to                 owns, beside the signal that stops it
//   code        the pipeline's code
//   cancelled   nothing: calls reject      the error that they reject with
//   undoing     compensations, not code
//   over        nothing                    the error of one that was cancelled before

import type { CallKey } from '../../execution/names.ts';
import type { Session } from '../../lease/live-session.ts';
import type { Claimed } from '../../store/contract/execution-store.ts';
import { type Instant, toInstant } from '../../support/clock.ts';
import type { WorkerConfig } from '../config.ts';
import { ExecutionCancelled } from '../failures.ts';
import type { AnyPipeline } from '../pipeline.ts';
import { type ResolvedRetry, resolveRetry } from '../retry-options.ts';
import type { ProjectPayloads } from '../values/payloads.ts';
import { type ExpectedPlace, INPUT, scheduleOwner, type ValuePlace } from '../values/place.ts';
import { type Call, refuseInside } from './call.ts';
import { Compensations } from './compensations.ts';
import { LazyAbort, soon } from './guarded.ts';
import { Inbox } from './inbox.ts';
import { Journal } from './journal.ts';
import type { CallBody, Drift, Ledger, Settlement, Unasked } from './ledger.ts';
import { Settling } from './settling.ts';

type Phase =
  | { readonly kind: 'code' | 'undoing'; readonly stop: LazyAbort }
  | { readonly kind: 'cancelled'; readonly stop: LazyAbort; readonly error: ExecutionCancelled }
  | {
      readonly kind: 'over';
      readonly stop: LazyAbort;
      readonly error: ExecutionCancelled | undefined;
    };

/** Which calls begin: all; none, since the code is only replayed; none, since the execution is to leave. */
type Begins = 'all' | 'replayed' | 'leaving';

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

/** The part that a run uses of the session that carries its claim. */
export type RunSession = Pick<Session, 'id' | 'owner' | 'signal' | 'remainingMs'>;

export class Run {
  readonly config: WorkerConfig;
  readonly claimed: Claimed;
  readonly session: RunSession;
  readonly pipeline: AnyPipeline;
  /** For steps that do not say otherwise. */
  readonly retry: ResolvedRetry;
  readonly payloads: ProjectPayloads;
  readonly journal: Journal;
  readonly ledger: Ledger;
  readonly settling: Settling;
  readonly calls: Map<CallKey, Call> = new Map();
  readonly events: RunEvents;
  /** Steps were begun under a claim that was lost, so the first ones now may have run before. */
  mayHaveRun: boolean;
  /** The last call that failed for good, for who asks why the execution did. */
  failedCall: { readonly key: CallKey; readonly attempts: number } | undefined;
  readonly #idle: IdleDetector = new IdleDetector(this);
  readonly #claimedTick: number;
  #phase: Phase = { kind: 'code', stop: new LazyAbort() };
  #begins: Begins;
  #inbox: Inbox | undefined;
  #compensations: Compensations | undefined;

  constructor(
    config: WorkerConfig,
    claim: {
      readonly claimed: Claimed;
      readonly pipeline: AnyPipeline;
      readonly ledger: Ledger;
      readonly session: RunSession;
    },
    events: RunEvents,
  ) {
    this.config = config;
    this.claimed = claim.claimed;
    this.session = claim.session;
    this.pipeline = claim.pipeline;
    this.retry = resolveRetry(claim.pipeline.retry);
    this.payloads = config.payloads.of(claim.claimed.execution.project);
    this.ledger = claim.ledger;
    this.events = events;
    this.mayHaveRun = claim.ledger.mayHaveRun(claim.claimed.previous);
    this.#begins = claim.ledger.cause === undefined ? 'all' : 'replayed';
    this.#claimedTick = config.clock.monotonicMs();
    this.settling = new Settling(this);
    this.journal = new Journal(this);
  }

  /** The code has returned or thrown, or the claim is over: nothing is delivered any more. */
  get isOver(): boolean {
    return this.#phase.kind === 'over';
  }

  get cancelled(): ExecutionCancelled | undefined {
    const phase = this.#phase;
    return phase.kind === 'cancelled' || phase.kind === 'over' ? phase.error : undefined;
  }

  /** Nothing new is started: the worker is stopping, or the execution is to be paused. */
  get isHeld(): boolean {
    return this.#begins === 'leaving';
  }

  /** The code is only replayed, to learn how its steps are undone or whether it has drifted. */
  get isFrozen(): boolean {
    return this.#begins === 'replayed';
  }

  get startsNothing(): boolean {
    return this.#begins !== 'all' || this.ledger.lacksOpen || this.isPastDeadline;
  }

  /** nothing is begun any more. */
  get isPastDeadline(): boolean {
    const { deadlineAt } = this.claimed.execution;
    return deadlineAt !== undefined && deadlineAt <= this.storeNow();
  }

  /** The execution's own time: of the last settlement that reached the code. */
  get now(): Instant {
    return this.ledger.now;
  }

  /** Made when a message is there, or when the code waits for one. */
  get inbox(): Inbox {
    this.#inbox ??= new Inbox(this);
    return this.#inbox;
  }

  get isReadingInbox(): boolean {
    return this.#inbox?.isReading === true;
  }

  /** Made when the first step that can be undone is asked for. */
  get compensations(): Compensations {
    this.#compensations ??= new Compensations(this.ledger);
    return this.#compensations;
  }

  /** Aborts when the claim is over or the execution is cancelled. */
  get stop(): LazyAbort {
    return this.#phase.stop;
  }

  /** Pieces of user code that run now; while any does, the execution stays here. */
  get activeSteps(): number {
    return this.#idle.active;
  }

  get isReplaying(): boolean {
    return this.settling.isReplaying;
  }

  /** The first recorded call that the code has not asked for. */
  get unasked(): Unasked | undefined {
    if (this.cancelled !== undefined) return undefined;
    return this.ledger.unasked(this.settling.cursor, this.calls);
  }

  /** Messages of the inbox that are history and have not reached the code. */
  get undelivered(): readonly number[] {
    return this.ledger.settlements.slice(this.settling.cursor).flatMap(({ body }) => body.n ?? []);
  }

  /** Store time as far as this process can tell; for waits only, nothing is decided by it. */
  storeNow(): Instant {
    const elapsed = this.config.clock.monotonicMs() - this.#claimedTick;
    return toInstant(this.claimed.claimedAt + elapsed);
  }

  /** A call of the code; of one that is not listened to any more, nothing becomes. */
  enter(call: Call): void {
    if (this.#phase.kind !== 'undoing') this.admit(call);
  }

  admit(call: Call): void {
    this.disturb();
    const refusal = refuseInside(this, call.key) ?? this.cancelled;
    if (refusal !== undefined) {
      call.reject(refusal);
      return;
    }
    this.calls.set(call.key, call);
    this.ledger.ask(call.key, this.calls);
    if (this.isOver) return;
    call.look?.();
    if (this.calls.has(call.key)) this.settling.answer(call);
  }

  /** Something durable has happened that lets the code go on. */
  settle(settlement: Settlement): void {
    if (this.isOver || this.cancelled !== undefined) return;
    this.ledger.settlements.push(settlement);
    this.settling.pump();
  }

  /** Stable over attempts, takeovers and re-drives. */
  idempotencyKey(key: CallKey): string {
    return `${this.claimed.execution.lineage}/${this.ledger.era}/${key}`;
  }

  /** Where what it records belongs, for codecs. Re-drives share it, as they share history. */
  placeOf(position: string): ValuePlace {
    return { owner: this.claimed.execution.lineage, position };
  }

  placeOfCall(key: CallKey): ValuePlace {
    return this.placeOf(`${this.ledger.era}/${key}`);
  }

  expectedAt(position: string): ExpectedPlace {
    return { owners: [this.claimed.execution.lineage], position };
  }

  expectedCall(key: CallKey): ExpectedPlace {
    return this.expectedAt(`${this.ledger.era}/${key}`);
  }

  /** Inputs of the engine's own pipelines are made where there may be no codec. */
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
  under(key: CallKey): Pick<CallBody, 'with'> {
    return this.ledger.beginOthers(key, this.calls);
  }

  /** A checkpoint is durable: calls are counted anew from here. */
  beginEra(at: Instant): void {
    this.ledger.beginEra(at);
    this.mayHaveRun = false;
  }

  /** The short way of `settle` for what nothing else stands before: true when the call may resolve now. */
  settlesAtOnce(call: Call, at: Instant): boolean {
    if (this.isOver || this.cancelled !== undefined || !this.settling.passes(call)) return false;
    this.disturb();
    this.ledger.now = at;
    this.settling.comeToRest();
    return true;
  }

  /** A piece of user code begins or ends. */
  active(change: 1 | -1): void {
    this.#idle.active += change;
    this.disturb();
    if (change === -1) this.written();
  }

  /** The inbox has messages up to this one. */
  news(news: number): void {
    if (news > 0) this.inbox.notice(news);
  }

  /** Something is durable, or has ended. Without a call that waits there is nothing to park for. */
  written(): void {
    if (this.calls.size > 0 || this.isHeld) this.rest();
  }

  /** The inbox has been read: what waited for that goes on. */
  goOn(): void {
    this.settling.pump();
    this.rest();
  }

  /** Something happened: its code is not at rest. */
  disturb(): void {
    this.#idle.disturb();
  }

  /** Looks, once the code has come to rest, whether there is anything left to do here. */
  rest(): void {
    if (!this.isOver) this.#idle.look();
  }

  /** From here on nothing new is started; what runs may finish. */
  hold(): void {
    this.#begins = 'leaving';
    this.rest();
  }

  /** From here on the code is only replayed. */
  freeze(): void {
    if (!this.isHeld) this.#begins = 'replayed';
  }

  cancel(reason: string): void {
    if (this.isOver || this.cancelled !== undefined) return;
    const error = new ExecutionCancelled(reason);
    this.#phase = { kind: 'cancelled', stop: this.stop, error };
    this.stop.abort(error);
    const calls = [...this.calls.values()];
    this.calls.clear();
    this.settling.drop();
    for (const call of calls) call.reject(error);
  }

  /** The store can never take what was to be recorded; the claim is still there. */
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
    if (this.isFrozen) this.#begins = 'all';
    this.#phase = { kind: 'undoing', stop: new LazyAbort() };
    this.calls.clear();
    this.settling.forget();
  }

  /** A mistake of ours. */
  troubled(error: unknown): void {
    this.events.troubled(error);
  }

  /** The code is done, or the engine does not listen to it any more. */
  over(): void {
    this.#phase = { kind: 'over', stop: this.stop, error: this.cancelled };
    this.settling.stopWatching();
    this.journal.stopWaiting();
    for (const call of this.calls.values()) call.leave();
  }

  /** Its code has come to rest. */
  atRest(): void {
    if (this.isOver || this.activeSteps > 0 || this.isReplaying) return;
    const isWaiting =
      this.calls.size > 0 && [...this.calls.values()].every((call) => call.waits !== undefined);
    const isFree = this.#begins === 'all';
    if (isWaiting && isFree && this.unasked !== undefined) this.settling.watchForDrift();
    else if (isWaiting || !isFree) this.events.idle();
    else this.journal.flush();
  }
}

/** Finds out when the code has come to rest: in two turns of the event loop nothing has happened. */
class IdleDetector {
  /** Pieces of user code that run now. */
  active = 0;
  readonly #run: Run;
  #happened = 0;
  #isLooking = false;

  constructor(run: Run) {
    this.#run = run;
  }

  /** Something happened: rest begins anew. */
  disturb(): void {
    this.#happened += 1;
  }

  look(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#run.config.timers.soon(() => {
      const before = this.#happened;
      soon(this.#run, () => {
        this.#isLooking = false;
        if (before === this.#happened) this.#run.atRest();
        else this.look();
      });
    });
  }
}
