// A worker: claims what is ready for its pipelines and drives it. One session, one heartbeat, however many
// executions it has.
//
//   claim loop ──▶ slots ──▶ one drive for each execution
//       │ between claims
//       └──▶ duties: what is due for all, where there is no coordinator

import type { Session } from '../../lease/live-session.ts';
import { hasStore, type WorkerConfig } from '../config.ts';
import { Announcer } from './announcer.ts';
import { ClaimLoop } from './claim-loop.ts';
import { Duties, OverdueSessions } from './duties.ts';
import { type EmployedSettings, withOwn } from './own-pipelines.ts';
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
  readonly #loop: ClaimLoop;
  /** Undefined: a coordinator does it. */
  readonly #duties: Duties | undefined;
  readonly #announcer: Announcer;
  readonly #unlisten: () => void;
  readonly #end: PromiseWithResolvers<WorkerEnd> = Promise.withResolvers<WorkerEnd>();
  readonly ended: Promise<WorkerEnd> = this.#end.promise;
  readonly #running: Promise<void>;
  #stopping: Promise<void> | undefined;

  constructor(config: WorkerConfig, settings: EmployedSettings, current: CurrentSession) {
    this.#current = current;
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
    this.#unlisten = config.store.executions.onRing(() => this.#loop.ring());
    this.#current.listen({
      noticed: () => this.#loop.lookAtInboxes(),
      lost: () => {
        this.#loop.slots.sessionOver();
        this.#loop.ring();
      },
    });
    this.#running = this.#loop.run();
  }

  static open(config: WorkerConfig, options: WorkerOptions): Promise<LiveWorker> {
    return LiveWorker.openWith(config, resolveWorkerOptions(options));
  }

  /** Also without pipelines: then it does what is done for all. */
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

  /** A schedule was put, resumed or removed in this process. */
  lookAtSchedules(): void {
    this.#duties?.lookAtSchedules();
    this.#loop.ring();
  }

  /** As far as this process knows; it need not wait for others to say so. */
  awaitDueIn(ms: number): void {
    if (this.#duties?.awaitDueIn(ms) === true) this.#loop.ring();
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
    // Executions need not wait for the answer to the last claim; those that it brings are yielded too.
    const cancels = [...this.#loop.slots.yieldAll()];
    await Promise.all([this.#running, this.#duties?.stop()]);
    cancels.push(...this.#loop.slots.yieldAll());
    await this.#loop.slots.empty();
    for (const cancel of cancels) cancel();
    await this.#current.end();
    this.#end.resolve({ kind: 'stopped' });
  }

  /** Not even that it leaves can be written: others find what it had when it has expired. */
  #giveUp(end: WorkerEnd): void {
    this.#end.resolve(end);
    this.crash();
  }
}
