// A worker: claims what is ready for its pipelines, in batches, and drives it. One session, one
// heartbeat, however many executions it has. It is woken by rings and by the next due time, and polls
// because rings may be lost.

import type { Lane } from '../execution/execution.ts';
import type { PipelineName } from '../execution/names.ts';
import { describeExecutionRefusal } from '../execution/refusal.ts';
import type { Session } from '../lease/live-session.ts';
import type { Claimed } from '../store/contract/execution-store.ts';
import { Announcer } from './announcer.ts';
import { hasStore, type WorkerConfig } from './config.ts';
import { Denial, pauseAfter, TROUBLE_PAUSE_MS, type WorkerEnd } from './denial.ts';
import { Drive, type DriveEvents } from './drive.ts';
import { quietLanes, sharesOf } from './lane-shares.ts';
import { tellTrouble } from './observer.ts';
import { OverdueSessions } from './overdue-sessions.ts';
import { type EmployedSettings, withOwn } from './own-pipelines.ts';
import { Tending } from './tending.ts';
import type { Worker } from './worker-handle.ts';
import { resolveWorkerOptions, type WorkerOptions, type WorkerSettings } from './worker-options.ts';
import { openWorkerSession, type WorkerSession } from './worker-session.ts';

/** A claim takes this many at most: a batch, not a stall. */
const CLAIM_MAX = 500;
const GIVE_BACK_MS_MAX = 5_000;
const NO_CLAIM = 'Nothing could be claimed';
/** How long a free place may wait for others to be claimed with it. */
const FILL_MS = 50;

export class LiveWorker implements Worker, DriveEvents {
  readonly #config: WorkerConfig;
  /** For executions: their steps have succeeded when a store is away. */
  readonly #driving: WorkerConfig;
  readonly #settings: EmployedSettings;
  readonly #names: readonly PipelineName[];
  readonly #stop: AbortController = new AbortController();
  readonly #unlisten: () => void;
  readonly #overdue: OverdueSessions;
  /** Undefined: a coordinator does it. */
  readonly #tending: Tending | undefined;
  readonly #announcer: Announcer;
  readonly #denial: Denial;
  readonly #end: PromiseWithResolvers<WorkerEnd> = Promise.withResolvers<WorkerEnd>();
  readonly ended: Promise<WorkerEnd> = this.#end.promise;
  #opened: WorkerSession;
  #drives: Set<Drive> = new Set();
  /** How many have a place: who is about to leave has none. */
  #taken = 0;
  /** The last claim left something that is ready. */
  #isMoreReady = false;
  #turn = 0;
  #isClaiming = false;
  #hasCrashed = false;
  #noticed = false;
  #claimedAt = Number.NEGATIVE_INFINITY;
  #cancelFill: (() => void) | undefined;
  #quiet: ReadonlySet<Lane> = new Set();
  #isAwake = false;
  #wake: (() => void) | undefined;
  #emptied: (() => void) | undefined;
  #running: Promise<void>;
  #stopping: Promise<void> | undefined;
  #stopped: () => void = () => undefined;

  constructor(config: WorkerConfig, settings: EmployedSettings, opened: WorkerSession) {
    this.#config = config;
    this.#driving = Object.freeze({ ...config, payloads: config.patientPayloads });
    this.#settings = settings;
    this.#names = [...settings.pipelines.keys()];
    this.#opened = opened;
    this.#overdue = new OverdueSessions(config.store.sessions, config.clock);
    this.#tending = hasStore(config)
      ? new Tending(config, {
          reconcileMs: settings.reconcileMs,
          overdue: this.#overdue,
          session: () => this.#session,
        })
      : undefined;
    this.#announcer = new Announcer(config, settings, settings.given.values());
    this.#denial = new Denial(config, settings.ttlMs);
    this.#unlisten = config.store.executions.onRing(() => this.#ring());
    this.#watch(opened.session);
    this.#running = this.#run();
  }

  static async open(
    config: WorkerConfig,
    options: WorkerOptions,
    stopped: () => void,
  ): Promise<LiveWorker> {
    return LiveWorker.openWith(config, resolveWorkerOptions(options), stopped);
  }

  /** Also without pipelines: then it does what is done for all. */
  static async openWith(
    config: WorkerConfig,
    resolved: WorkerSettings,
    stopped: () => void,
  ): Promise<LiveWorker> {
    const settings = withOwn(config, resolved);
    config.pipelines.add(settings.pipelines);
    let worker: LiveWorker | undefined;
    const opened = await openWorkerSession(config, settings, () => worker?.lookAtInboxes());
    worker = new LiveWorker(config, settings, opened);
    worker.#stopped = stopped;
    return worker;
  }

  get #session(): Session {
    return this.#opened.session;
  }

  get session(): Session['id'] {
    return this.#session.id;
  }

  get running(): number {
    return this.#drives.size;
  }

  /** The store has a notice for this session: a message for one of its executions. */
  lookAtInboxes(): void {
    // What is being claimed may be what the message is for.
    this.#noticed = this.#isClaiming;
    for (const drive of this.#drives) drive.lookAtInbox();
  }

  /** A schedule was put, resumed or removed in this process. */
  lookAtSchedules(): void {
    this.#tending?.lookAtSchedules();
    this.#ring();
  }

  /** As far as this process knows; it need not wait for others to say so. */
  awaitDueIn(ms: number): void {
    if (this.#tending?.awaitDueIn(ms) === true) this.#ring();
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#shutDown();
    return this.#stopping;
  }

  crash(): void {
    this.#end.resolve({ kind: 'crashed' });
    this.#hasCrashed = true;
    this.#stop.abort();
    this.#unlisten();
    this.#cancelFill?.();
    void this.#tending?.stop();
    this.#ring();
    for (const drive of [...this.#drives]) drive.sessionOver();
    this.#stopping ??= this.#opened.die();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #shutDown(): Promise<void> {
    this.#stop.abort();
    this.#unlisten();
    this.#ring();
    this.#cancelFill?.();
    void this.#announcer.drain(this.session);
    // What it has need not wait for the answer to its last claim; what that brings is yielded too.
    const cancels = this.#yieldAll();
    await Promise.all([this.#running, this.#tending?.stop()]);
    cancels.push(...this.#yieldAll());
    await this.#empty();
    for (const cancel of cancels) cancel();
    await this.#opened.end();
    this.#end.resolve({ kind: 'stopped' });
    this.#stopped();
  }

  #yieldAll(): (() => void)[] {
    for (const drive of this.#drives) drive.yield();
    const { timers } = this.#config;
    const { stopGraceMs } = this.#settings;
    return [
      timers.after(stopGraceMs, () => {
        for (const drive of this.#drives) drive.abandon();
      }),
      // The store does not answer: what is left is found by others when the session has expired.
      timers.after(stopGraceMs + GIVE_BACK_MS_MAX, () => {
        for (const drive of [...this.#drives]) drive.sessionOver();
      }),
    ];
  }

  #empty(): Promise<void> {
    if (this.#drives.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#emptied = resolve;
    });
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      let pauseMs: number;
      try {
        const roundMs = await this.#round();
        const tendsInMs = this.#tending?.dueInMs ?? Infinity;
        pauseMs = Math.min(roundMs, tendsInMs, this.#announcer.dueInMs);
        this.#denial.over();
      } catch (fault) {
        tellTrouble(this.#config.observer, NO_CLAIM, fault);
        const end = this.#denial.met(fault);
        if (end !== undefined) this.#giveUp(end);
        pauseMs = pauseAfter(fault);
      }
      if (!signal.aborted && pauseMs > 0) await this.#rest(pauseMs);
    }
  }

  /** Not even that it leaves can be written: others find what it had when it has expired. */
  #giveUp(end: WorkerEnd): void {
    this.#end.resolve(end);
    this.crash();
    this.#stopped();
  }

  /** One round; answers how long to wait for a ring at most. */
  async #round(): Promise<number> {
    if (this.#session.signal.aborted) await this.#reopen();
    await this.#tending?.tendWhenDue();
    const { pollMs } = this.#settings;
    await this.#turnOver();
    const free = Math.min(this.#free, this.#config.store.executions.room());
    const { id: session } = this.#session;
    await this.#announcer.begin(session, free);
    if (free <= 0) await this.#announcer.prove(session, 0);
    if (free <= 0 && this.#tending === undefined) return pollMs;
    const now = this.#config.clock.monotonicMs();
    const waitMs = this.#claimedAt + this.#pauseFor(free) - now;
    if (waitMs > 0) return waitMs;
    this.#claimedAt = now;
    this.#isAwake = false;
    this.#turn += 1;
    const isFull = free <= 0;
    const shares = isFull ? [] : sharesOf(Math.min(free, CLAIM_MAX), this.#turn, this.#quiet);
    const dice = this.#config.random.next();
    const request = { session, pipelines: this.#names, shares, dice, ...this.#announcer.asks };
    this.#isClaiming = true;
    const answer = await this.#config.store.executions.claim(request).finally(() => {
      this.#isClaiming = false;
    });
    if (answer.kind === 'refused') {
      tellTrouble(this.#config.observer, NO_CLAIM, new Error(describeExecutionRefusal(answer)));
      if (answer.why === 'session-not-live') await this.#session.heartbeat();
      return TROUBLE_PAUSE_MS;
    }
    // As if the process had died: what it claimed is found by others.
    if (this.#hasCrashed) return pollMs;
    await this.#announcer.prove(session, free - answer.claims.length);
    for (const claimed of answer.claims) this.#drive(claimed);
    if (this.#noticed) this.lookAtInboxes();
    if (!isFull) {
      this.#quiet = quietLanes(shares, answer.claims);
      this.#isMoreReady = answer.more;
    }
    if (await this.#overdue.heard(answer.overdue)) return 0;
    if (answer.more && answer.claims.length > 0) return 0;
    // It was the other lane's turn, and that lane had nothing: the first lane was not asked at all.
    if (answer.claims.length === 0 && shares[0]?.limit === 0) return 0;
    // Polls are spread, never longer than asked for: they find what the dead left (P4). What is due at a
    // known time is looked for at that time.
    const spreadMs = pollMs * (1 - this.#config.random.next() / 10);
    const sweepInMs = answer.overdue ? this.#overdue.dueInMs : spreadMs;
    return Math.max(1, Math.min(spreadMs, sweepInMs, answer.nextReadyInMs ?? spreadMs));
  }

  /** Batches stay batches under load: it asks when it can have a whole one, or has waited long enough. */
  #pauseFor(free: number): number {
    if (free > 0) return free < this.#batch ? FILL_MS : 0;
    // P4: asked for nothing, the store says who is overdue; the next place that is free is for what he left.
    return this.#settings.pollMs;
  }

  get #batch(): number {
    return Math.min(CLAIM_MAX, this.#settings.concurrency / 2);
  }

  /** What was answered in this turn has asked for more by then. */
  #turnOver(): Promise<void> {
    return new Promise((resolve) => this.#config.timers.soon(resolve));
  }

  #drive(claimed: Claimed): void {
    const pipeline = this.#settings.pipelines.get(claimed.execution.pipeline);
    // A store answers with what it was asked for.
    if (pipeline === undefined) return;
    const drive = new Drive(this.#driving, { claimed, pipeline, session: this.#session }, this);
    this.#drives.add(drive);
    this.#taken += 1;
    drive.start();
  }

  /** Where something is known to be ready, it is claimed along with the last write of who leaves. */
  leaving(): void {
    this.#taken -= 1;
    if (this.#isMoreReady) this.#freed();
  }

  left(drive: Drive): void {
    this.#drives.delete(drive);
    if (!this.#isMoreReady || this.#drives.size >= this.#settings.concurrency) this.#freed();
    if (this.#drives.size === 0) this.#emptied?.();
  }

  /** Last writes may take long: with as many of them as there are places, nothing is claimed. */
  get #free(): number {
    const { concurrency } = this.#settings;
    return Math.min(concurrency - this.#taken, 2 * concurrency - this.#drives.size);
  }

  #freed(): void {
    if (this.#free >= this.#batch) this.#ring();
    else this.#cancelFill ??= this.#config.timers.after(FILL_MS, () => this.#fill());
  }

  /** A place has been free for a while and it is still not half empty. */
  #fill(): void {
    this.#cancelFill = undefined;
    this.#ring();
  }

  /** When the session is lost everything claimed with it is: steps are told at once. */
  #watch(session: Session): void {
    const lost = (): void => {
      for (const drive of [...this.#drives]) drive.sessionOver();
      this.#ring();
    };
    session.signal.addEventListener('abort', lost, { once: true });
  }

  /** A new life after a lost session. */
  async #reopen(): Promise<void> {
    const notice = (): void => this.lookAtInboxes();
    this.#opened = await openWorkerSession(this.#config, this.#settings, notice);
    this.#watch(this.#session);
  }

  #ring(): void {
    this.#isAwake = true;
    this.#wake?.();
  }

  async #rest(ms: number): Promise<void> {
    if (this.#isAwake) {
      this.#isAwake = false;
      return;
    }
    await new Promise<void>((resolve) => {
      const cancel = this.#config.timers.after(ms, resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
    this.#wake = undefined;
    this.#isAwake = false;
  }
}
