// One claimed execution in this process. It runs the pipeline's code, delivers recorded results from
// history, and records new ones, until the execution ends, waits, or leaves this worker.
//
//   code ──▶ enter ──▶ in history? ──yes──▶ settle, in the order of history ──▶ code continues
//                        │no
//                        └──▶ start ──▶ journal (durable) ──▶ settle ──▶ code continues
//
// `settling.ts` decides which of these comes next. `calls/step.ts` lists the stations of a step.
//
//   phase       listens to                 keeps, beside the signal that stops it
//   code        the pipeline's code
//   cancelled   nothing: calls reject      the error that they reject with
//   cleaning    cleanups, not other code   that error, and when the cleanups must be over
//   undoing     compensations, not code
//   over        nothing                    the error, if it was cancelled before

import { type CallKey, CLEANUP_CALL } from '../../execution/names.ts';
import type { Session } from '../../lease/live-session.ts';
import type { LeaseNotHeld } from '../../lease/not-held.ts';
import type { Claimed } from '../../store/contract/execution-store.ts';
import { type Instant, toInstant } from '../../support/clock.ts';
import type { WorkerConfig } from '../config.ts';
import { CleanupTimedOut, ExecutionCancelled } from '../failures.ts';
import type { AnyPipeline } from '../pipeline.ts';
import { type ResolvedRetry, resolveRetry } from '../retry-options.ts';
import type { ProjectPayloads } from '../values/payloads.ts';
import { type ExpectedPlace, INPUT, scheduleOwner, type ValuePlace } from '../values/place.ts';
import { RunAttributes } from './attributes.ts';
import { type Call, refuseInside } from './call.ts';
import { Compensations } from './compensations.ts';
import { after, LazyAbort, soon } from './guarded.ts';
import { RunHeartbeats } from './heartbeats.ts';
import { Inbox } from './inbox.ts';
import { Journal } from './journal.ts';
import type { CallBody, Drift, Ledger, MissingCall, Settlement } from './ledger.ts';
import { Settling } from './settling.ts';

type Phase =
  | { readonly kind: 'code' | 'undoing'; readonly stop: LazyAbort }
  | {
      readonly kind: 'cancelled' | 'cleaning';
      readonly stop: LazyAbort;
      readonly error: ExecutionCancelled;
      readonly until: Instant;
    }
  | {
      readonly kind: 'over';
      readonly stop: LazyAbort;
      readonly error: ExecutionCancelled | undefined;
    };

/**
 * The calls that may begin: `all`; none, because the run only replays; none, because the execution
 * is leaving.
 */
type Begins = 'all' | 'replayed' | 'leaving';

/** The ways in which a run ends; its worker acts on them. */
export interface RunEvents {
  /** Nothing runs and everything waits, so the execution can park. */
  idle(): void;
  drifted(drift: Drift): void;
  lost(reason: Error): void;
  /** The store can never accept the entry. */
  rejected(fault: unknown): void;
  /** A bug in the engine, or a broken store. */
  troubled(error: unknown): void;
  /** A block of `ctx.lease` lost its lease, so the code cannot go on here. */
  leaseLost(reason: LeaseNotHeld): void;
  /** The replay needs a lease that others hold. It may try again after `delayMs`. */
  leaseBusy(delayMs: number): void;
}

/** A block of `ctx.scope` whose code has not ended. */
export interface Scope {
  /** The time limit of its cleanup, from the cancel on. */
  readonly cleanupMs: number;
  /** Resolves after the block and its cleanup. */
  readonly ended: Promise<void>;
}

/** The part of the claim's session that a run uses. */
export type RunSession = Pick<Session, 'id' | 'owner' | 'signal' | 'remainingMs' | 'acquire'>;

export class Run {
  readonly config: WorkerConfig;
  readonly claimed: Claimed;
  readonly session: RunSession;
  readonly pipeline: AnyPipeline;
  /** The default for steps without a policy of their own. */
  readonly retry: ResolvedRetry;
  readonly payloads: ProjectPayloads;
  readonly journal: Journal;
  readonly heartbeats: RunHeartbeats;
  readonly attributes: RunAttributes;
  readonly ledger: Ledger;
  readonly settling: Settling;
  readonly calls: Map<CallKey, Call> = new Map();
  readonly events: RunEvents;
  /** Calls that acquire or hold a lease, even if the code no longer listens to them. */
  readonly leases: Set<Pick<Call, 'leave'>> = new Set();
  /** The handlers of the code's queries, by name. */
  readonly queries: Map<string, (value: unknown) => unknown> = new Map();
  /** The scopes that the code is in. */
  readonly scopes: Set<Scope> = new Set();
  /**
   * An earlier claim was lost while steps were running, so the first steps now may have run before.
   */
  mayHaveRun: boolean;
  /** The last call that failed for good; the dead letter reports its attempts. */
  failedCall: { readonly key: CallKey; readonly attempts: number } | undefined;
  /** The first error that a cleanup threw. */
  cleanupFailure: { readonly error: unknown } | undefined;
  readonly #idle: IdleDetector = new IdleDetector(this);
  readonly #claimedTick: number;
  #phase: Phase = { kind: 'code', stop: new LazyAbort() };
  #begins: Begins;
  #inbox: Inbox | undefined;
  #compensations: Compensations | undefined;
  #cancelLimit: (() => void) | undefined;

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
    this.heartbeats = new RunHeartbeats(this);
    this.attributes = new RunAttributes(this);
    this.journal = new Journal(this);
  }

  /** The code has returned or thrown, or the claim is over. The run delivers nothing more. */
  get isOver(): boolean {
    return this.#phase.kind === 'over';
  }

  get cancelled(): ExecutionCancelled | undefined {
    const phase = this.#phase;
    return 'error' in phase ? phase.error : undefined;
  }

  /** When the cleanups must be over; undefined if none has begun. */
  get cleanupUntil(): Instant | undefined {
    return this.#phase.kind === 'cleaning' ? this.#phase.until : undefined;
  }

  /** After a cancel, only calls of cleanups have results. */
  isRejected(key: CallKey): boolean {
    return this.cancelled !== undefined && !key.startsWith(CLEANUP_CALL);
  }

  /** The run starts nothing new, because the worker is stopping or the execution is pausing. */
  get isHeld(): boolean {
    return this.#begins === 'leaving';
  }

  /** The run only replays the code, to collect its compensations or to detect drift. */
  get isFrozen(): boolean {
    return this.#begins === 'replayed';
  }

  /** The pipeline lets its code have results while they are being written. */
  get mayRunAhead(): boolean {
    const { checkpoint } = this.pipeline;
    if (checkpoint.every !== 'step' || checkpoint.runAhead === false) return false;
    return this.#phase.kind === 'code';
  }

  /** The number of the last message that was read. */
  get inboxSeen(): number {
    return this.#inbox?.seen ?? 0;
  }

  get startsNothing(): boolean {
    return this.#begins !== 'all' || this.ledger.lacksOpen || this.isPastDeadline;
  }

  /** After its deadline an execution begins nothing more. */
  get isPastDeadline(): boolean {
    const { deadlineAt } = this.claimed.execution;
    return deadlineAt !== undefined && deadlineAt <= this.storeNow();
  }

  /** The execution's own time: that of the last settlement that reached the code. */
  get now(): Instant {
    return this.ledger.now;
  }

  /** Created on the first message, or when the code first waits for one. */
  get inbox(): Inbox {
    this.#inbox ??= new Inbox(this);
    return this.#inbox;
  }

  get isReadingInbox(): boolean {
    return this.#inbox?.isReading === true;
  }

  /** Created when the code makes the first call with a compensation. */
  get compensations(): Compensations {
    this.#compensations ??= new Compensations(this.ledger);
    return this.#compensations;
  }

  /** Aborts when the claim is over or an operator cancelled the execution. */
  get stop(): LazyAbort {
    return this.#phase.stop;
  }

  /**
   * The number of running user functions. While there is any, the execution stays in this process.
   */
  get activeSteps(): number {
    return this.#idle.active;
  }

  get isReplaying(): boolean {
    return this.settling.isReplaying;
  }

  /** The first recorded call that the code has not made. */
  get missingCall(): MissingCall | undefined {
    if (this.cancelled !== undefined) return undefined;
    return this.ledger.missingCall(this.settling.cursor, this.calls);
  }

  /** Inbox messages that are in the history but have not reached the code. */
  get undelivered(): readonly number[] {
    return this.ledger.settlements.slice(this.settling.cursor).flatMap(({ body }) => body.n ?? []);
  }

  /** An estimate of the store's time, for waits and for people. It decides nothing. */
  storeNow(tick: number = this.config.clock.monotonicMs()): Instant {
    return toInstant(this.claimed.claimedAt + tick - this.#claimedTick);
  }

  /** For people: when a call began that started at this tick, and how long it has taken. */
  timing(tick: number): { readonly startedAt: Instant; readonly tookMs: number } {
    const tookMs = Math.round(this.config.clock.monotonicMs() - tick);
    return { startedAt: this.storeNow(tick), tookMs };
  }

  /** Takes a call of the code. While compensations run, the run ignores such calls. */
  enter(call: Call): void {
    if (this.#phase.kind !== 'undoing') this.admit(call);
  }

  admit(call: Call): void {
    this.noteActivity();
    const refusal = refuseInside(this, call.key) ?? this.#refuseCancelled(call.key);
    if (refusal !== undefined) {
      call.reject(refusal);
      return;
    }
    this.calls.set(call.key, call);
    this.ledger.noteCall(call.key, this.calls);
    if (!this.isOver && !this.settling.holds(call)) this.begin(call);
  }

  #refuseCancelled(key: CallKey): Error | undefined {
    const { cleanupUntil } = this;
    if (cleanupUntil === undefined || this.isRejected(key)) return this.cancelled;
    return cleanupUntil <= this.storeNow() ? new CleanupTimedOut() : undefined;
  }

  /** The code made the call, and every result that it has is durable. */
  begin(call: Call): void {
    if (this.isOver || this.calls.get(call.key) !== call) return;
    call.check?.();
    if (this.calls.has(call.key)) this.settling.replay(call);
  }

  /** A durable event lets the code continue. */
  settle(settlement: Settlement): void {
    if (this.isOver || this.isRejected(settlement.body.key)) return;
    this.ledger.settlements.push(settlement);
    this.settling.pump();
  }

  /** Stays the same over attempts, takeovers and re-drives. */
  idempotencyKey(key: CallKey): string {
    return `${this.claimed.execution.lineage}/${this.ledger.era}/${key}`;
  }

  /**
   * The place of recorded values, for codecs. Re-drives share it, because they share the history.
   */
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

  /**
   * The process that submits one of the engine's own pipelines may have no codec, so accept plain
   * inputs there.
   */
  get expectedInput(): ExpectedPlace {
    const { lineage, scheduled, pipeline } = this.claimed.execution;
    const schedules = scheduled === undefined ? [] : [scheduleOwner(scheduled.id)];
    const isOpen = pipeline.startsWith('holdfast.');
    return { owners: [lineage, ...schedules], position: INPUT, isOpen };
  }

  /**
   * Other calls that are under way, for the event that settles this one; the run names each once. A
   * replay uses them to tell an interrupted step from one that history does not know.
   */
  under(key: CallKey): Pick<CallBody, 'with'> {
    return this.ledger.beginOthers(key, this.calls);
  }

  /** The checkpoint is durable, so call numbers restart. */
  beginEra(at: Instant): void {
    this.ledger.beginEra(at);
    this.mayHaveRun = false;
  }

  /**
   * The short path of `settle` when nothing else comes first. True when the call may resolve now.
   */
  settlesAtOnce(call: Call, at: Instant): boolean {
    if (this.isOver || this.cancelled !== undefined || !this.settling.passes(call)) return false;
    this.noteActivity();
    this.ledger.now = at;
    this.settling.comeToRest();
    return true;
  }

  /** A user function begins or ends. */
  active(change: 1 | -1): void {
    this.#idle.active += change;
    this.noteActivity();
    if (change === -1) this.written();
  }

  /** The inbox has messages up to this one. */
  noteInbox(inboxCount: number): void {
    if (inboxCount > 0) this.inbox.notice(inboxCount);
  }

  /**
   * An entry became durable, or a step ended. Without a pending call there is nothing to park for.
   */
  written(): void {
    this.settling.catchUp();
    if (this.calls.size > 0 || this.isHeld) this.rest();
  }

  /** The inbox is read, so pending deliveries continue. */
  goOn(): void {
    this.settling.catchUp();
    this.settling.pump();
    this.rest();
  }

  /** Activity: the code is not at rest. */
  noteActivity(): void {
    this.#idle.noteActivity();
  }

  /** Checks, once the code is at rest, whether this process has anything left to do. */
  rest(): void {
    if (!this.isOver) this.#idle.check();
  }

  /** The run starts nothing new from here on; running steps may finish. */
  hold(): void {
    this.#begins = 'leaving';
    this.rest();
  }

  /** The run only replays the code from here on. */
  freeze(): void {
    if (!this.isHeld) this.#begins = 'replayed';
  }

  cancel(reason: string, at: Instant): void {
    if (this.isOver || this.cancelled !== undefined) return;
    const error = new ExecutionCancelled(reason);
    const until = toInstant(
      at + Math.max(0, ...[...this.scopes].map(({ cleanupMs }) => cleanupMs)),
    );
    this.#phase = { kind: 'cancelled', stop: this.stop, error, until };
    this.stop.abort(error);
    this.ledger.noteCancel();
    this.#rejectAll(error);
  }

  #rejectAll(error: Error): void {
    const calls = [...this.calls.values()];
    this.calls.clear();
    this.settling.drop();
    for (const call of calls) call.reject(error);
  }

  /** Calls of cleanups may begin, until the longest limit of the scopes has passed. */
  beginCleanup(): void {
    const phase = this.#phase;
    if (phase.kind !== 'cancelled') return;
    const { error, until } = phase;
    this.#phase = { kind: 'cleaning', stop: new LazyAbort(), error, until };
    this.#watchCleanup(until);
  }

  #watchCleanup(until: Instant): void {
    this.#cancelLimit = after(this, Math.max(0, until - this.storeNow()), () => {
      if (this.isOver) return;
      // Timers of the process may fire early, and Node caps very long ones.
      if (until > this.storeNow()) {
        this.#watchCleanup(until);
        return;
      }
      const error = new CleanupTimedOut();
      this.cleanupFailure ??= { error };
      this.stop.abort(error);
      this.#rejectAll(error);
    });
  }

  /** The store can never accept the entry, but the claim still holds. */
  rejected(fault: unknown): void {
    this.events.rejected(fault);
  }

  /** The claim is over, so this process can write nothing more. */
  lost(reason: Error): void {
    if (!this.isOver) {
      this.over();
      this.stop.abort(reason);
    }
    this.events.lost(reason);
  }

  /**
   * The replay has collected the compensations. From here on the run admits only their calls and
   * ignores the code (Y-4).
   */
  beginUndoing(): void {
    if (this.isFrozen) this.#begins = 'all';
    this.#phase = { kind: 'undoing', stop: new LazyAbort() };
    this.calls.clear();
    this.settling.forget();
  }

  /** Resolves when no code of a cleanup runs. The code around it may have ended before. */
  async cleanedUp(): Promise<void> {
    while (!this.isOver && this.scopes.size > 0) {
      await Promise.all([...this.scopes].map(({ ended }) => ended));
    }
  }

  /** Reports a bug in the engine. */
  troubled(error: unknown): void {
    this.events.troubled(error);
  }

  /** The code has ended, or the engine no longer listens to it. */
  over(): void {
    this.#phase = { kind: 'over', stop: this.stop, error: this.cancelled };
    this.settling.stopWatching();
    this.#cancelLimit?.();
    this.journal.stopWaiting();
    for (const call of this.calls.values()) call.leave();
    for (const call of [...this.leases]) call.leave();
  }

  /** The calls that the code waits for, without the blocks around them. */
  get pendingCalls(): readonly Call[] {
    return [...this.calls.values()].filter(({ isBlock }) => isBlock !== true);
  }

  /** True if the replay cannot continue before a lease is there. */
  get isEntering(): boolean {
    return this.isReplaying && this.pendingCalls.some(({ isEntering }) => isEntering === true);
  }

  /** The code is at rest: park, watch for drift, or flush. */
  atRest(): void {
    if (this.isOver || this.activeSteps > 0) return;
    if (this.isReplaying && !this.isEntering) return;
    const pending = this.pendingCalls;
    const isWaiting = pending.length > 0 && pending.every((call) => call.waits !== undefined);
    const isFree = this.#begins === 'all';
    if (isWaiting && isFree && this.missingCall !== undefined) this.settling.watchForDrift();
    else if (isWaiting || !isFree) this.events.idle();
    else this.journal.flush();
  }
}

/**
 * Detects that the code is at rest: nothing happened during two turns of the event loop. While a
 * user function runs, it is not, and the end of that function checks again.
 */
class IdleDetector {
  /** The number of running user functions. */
  active = 0;
  readonly #run: Run;
  #happened = 0;
  #isChecking = false;

  constructor(run: Run) {
    this.#run = run;
  }

  /** Activity restarts the detection. */
  noteActivity(): void {
    this.#happened += 1;
  }

  check(): void {
    if (this.#isChecking || this.active > 0) return;
    this.#isChecking = true;
    this.#run.config.timers.soon(() => {
      const before = this.#happened;
      soon(this.#run, () => {
        this.#isChecking = false;
        if (before === this.#happened) this.#run.atRest();
        else this.check();
      });
    });
  }
}
