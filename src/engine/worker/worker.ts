// A worker: claims what is ready for its pipelines and drives it. One session, one heartbeat, however many
// executions it has.
//
//   claim loop ──▶ slots ──▶ one drive for each execution
//       │ between claims
//       └──▶ tending: what is due for all, where there is no coordinator

import type { Session } from '../../lease/live-session.ts';
import { hasStore, type WorkerConfig } from '../config.ts';
import { Announcer } from './announcer.ts';
import { ClaimLoop } from './claim-loop.ts';
import { OverdueSessions, Tending } from './duties.ts';
import { type EmployedSettings, withOwn } from './own-pipelines.ts';
import { Slots } from './slots.ts';
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
  readonly #slots: Slots;
  readonly #loop: ClaimLoop;
  /** Undefined: a coordinator does it. */
  readonly #tending: Tending | undefined;
  readonly #announcer: Announcer;
  readonly #unlisten: () => void;
  readonly #stopped: () => void;
  readonly #end: PromiseWithResolvers<WorkerEnd> = Promise.withResolvers<WorkerEnd>();
  readonly ended: Promise<WorkerEnd> = this.#end.promise;
  readonly #running: Promise<void>;
  #stopping: Promise<void> | undefined;

  constructor(
    config: WorkerConfig,
    settings: EmployedSettings,
    own: { readonly current: CurrentSession; readonly stopped: () => void },
  ) {
    this.#current = own.current;
    this.#stopped = own.stopped;
    const overdue = new OverdueSessions(config.store.sessions, config.clock);
    const session = (): Session => this.#current.session;
    this.#tending = hasStore(config)
      ? new Tending(config, { reconcileMs: settings.reconcileMs, overdue, session })
      : undefined;
    this.#announcer = new Announcer(config, settings, settings.given.values());
    this.#slots = new Slots(config, settings, {
      leaving: () => this.#loop.leaving(),
      left: () => this.#loop.left(),
    });
    this.#loop = new ClaimLoop(config, settings, {
      current: own.current,
      slots: this.#slots,
      announcer: this.#announcer,
      overdue,
      tending: this.#tending,
      denied: (end) => this.#giveUp(end),
    });
    this.#unlisten = config.store.executions.onRing(() => this.#loop.ring());
    this.#current.listen({
      noticed: () => this.#loop.lookAtInboxes(),
      lost: () => {
        this.#slots.sessionOver();
        this.#loop.ring();
      },
    });
    this.#running = this.#loop.run();
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
    const current = await CurrentSession.open(config, settings);
    return new LiveWorker(config, settings, { current, stopped });
  }

  get session(): Session['id'] {
    return this.#current.session.id;
  }

  get running(): number {
    return this.#slots.running;
  }

  /** A schedule was put, resumed or removed in this process. */
  lookAtSchedules(): void {
    this.#tending?.lookAtSchedules();
    this.#loop.ring();
  }

  /** As far as this process knows; it need not wait for others to say so. */
  awaitDueIn(ms: number): void {
    if (this.#tending?.awaitDueIn(ms) === true) this.#loop.ring();
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#shutDown();
    return this.#stopping;
  }

  crash(): void {
    this.#end.resolve({ kind: 'crashed' });
    this.#unlisten();
    this.#loop.crash();
    void this.#tending?.stop();
    this.#slots.sessionOver();
    this.#stopping ??= this.#current.die();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #shutDown(): Promise<void> {
    this.#unlisten();
    this.#loop.stop();
    void this.#announcer.drain(this.session);
    // What it has need not wait for the answer to its last claim; what that brings is yielded too.
    const cancels = [...this.#slots.yieldAll()];
    await Promise.all([this.#running, this.#tending?.stop()]);
    cancels.push(...this.#slots.yieldAll());
    await this.#slots.empty();
    for (const cancel of cancels) cancel();
    await this.#current.end();
    this.#end.resolve({ kind: 'stopped' });
    this.#stopped();
  }

  /** Not even that it leaves can be written: others find what it had when it has expired. */
  #giveUp(end: WorkerEnd): void {
    this.#end.resolve(end);
    this.crash();
    this.#stopped();
  }
}
