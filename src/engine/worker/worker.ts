// A worker claims ready executions of its pipelines and drives them. It has one session and one
// heartbeat, however many executions it holds.
//
//   claim loop ──▶ slots ──▶ one drive for each execution
//       │ between claims
//       └──▶ duties for all workers, where there is no coordinator

import type { PipelineName } from '../../execution/names.ts';
import type { Session } from '../../lease/live-session.ts';
import { hasStore, type WorkerConfig } from '../config.ts';
import { Announcer } from './announcer.ts';
import { ClaimLoop } from './claim-loop.ts';
import { Duties, OverdueSessions } from './duties.ts';
import { type OwnWorkerSettings, withOwn } from './own-pipelines.ts';
import {
  resolveWorkerOptions,
  type Worker,
  type WorkerEnd,
  type WorkerOptions,
  type WorkerSettings,
} from './worker-options.ts';
import { CurrentSession } from './worker-session.ts';

export class LiveWorker implements Worker {
  readonly #current: CurrentSession;
  readonly #pipelines: OwnWorkerSettings['pipelines'];
  readonly #loop: ClaimLoop;
  /** Undefined if a coordinator performs the duties. */
  readonly #duties: Duties | undefined;
  readonly #announcer: Announcer;
  readonly #unlisten: () => void;
  readonly #end: PromiseWithResolvers<WorkerEnd> = Promise.withResolvers<WorkerEnd>();
  readonly ended: Promise<WorkerEnd> = this.#end.promise;
  readonly #running: Promise<void>;
  #stopping: Promise<void> | undefined;

  constructor(config: WorkerConfig, settings: OwnWorkerSettings, current: CurrentSession) {
    this.#current = current;
    this.#pipelines = settings.pipelines;
    const overdue = new OverdueSessions(config.store.sessions, config.clock);
    const session = (): Session => this.#current.session;
    this.#duties = hasStore(config)
      ? new Duties(config, { reconcileMs: settings.reconcileMs, overdue, session })
      : undefined;
    this.#announcer = new Announcer(config, settings, settings.given.values());
    this.#loop = new ClaimLoop(config, settings, {
      current,
      announcer: this.#announcer,
      overdue,
      duties: this.#duties,
      denied: (end) => this.#giveUp(end),
    });
    this.#unlisten = config.store.executions.onWakeup((_, cause) => {
      const ready = cause?.ready && [...cause.ready];
      if (ready?.some((each) => this.#pipelines.has(each)) !== false) this.#loop.notify();
    });
    this.#current.listen({
      noticed: () => this.#loop.readInboxes(),
      lost: () => {
        this.#loop.slots.sessionOver();
        this.#loop.notify();
      },
    });
    this.#running = this.#loop.run();
  }

  static open(config: WorkerConfig, options: WorkerOptions): Promise<LiveWorker> {
    return LiveWorker.openWith(config, resolveWorkerOptions(options));
  }

  /** Also opens a worker without pipelines, which performs only the shared duties. */
  static async openWith(config: WorkerConfig, resolved: WorkerSettings): Promise<LiveWorker> {
    const settings = withOwn(config, resolved);
    config.pipelines.add(settings.pipelines);
    return new LiveWorker(config, settings, await CurrentSession.open(config, settings));
  }

  get session(): Session['id'] {
    return this.#current.session.id;
  }

  get running(): number {
    return this.#loop.slots.running;
  }

  /** This process created, resumed or removed a schedule. */
  checkSchedules(): void {
    this.#duties?.checkSchedules();
    this.#loop.notify();
  }

  /** This process has sent a submit to the store. Returns false if the worker cannot claim now. */
  claimBehind(pipeline: PipelineName): boolean {
    return this.#pipelines.has(pipeline) && this.#loop.claimBehind();
  }

  /** This process knows of the time, so it need not wait for a poll. */
  awaitDueIn(ms: number): void {
    if (this.#duties?.awaitDueIn(ms) === true) this.#loop.notify();
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#shutDown();
    return this.#stopping;
  }

  crash(): void {
    this.#end.resolve({ kind: 'crashed' });
    this.#unlisten();
    this.#loop.crash();
    void this.#duties?.stop();
    this.#loop.slots.sessionOver();
    this.#stopping ??= this.#current.die();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #shutDown(): Promise<void> {
    this.#unlisten();
    this.#loop.stop();
    void this.#announcer.drain(this.session);
    // Yield the running executions at once. The last claim may bring more, so yield again after it.
    const cancels = [...this.#loop.slots.yieldAll()];
    await Promise.all([this.#running, this.#duties?.stop()]);
    cancels.push(...this.#loop.slots.yieldAll());
    await this.#loop.slots.empty();
    for (const cancel of cancels) cancel();
    await this.#current.end();
    this.#end.resolve({ kind: 'stopped' });
  }

  /**
   * The store accepts no write, not even the exit. Other workers take over once the session has
   * expired.
   */
  #giveUp(end: WorkerEnd): void {
    this.#end.resolve(end);
    this.crash();
  }
}
