// The main thread's side of the thread that sends heartbeats: one thread for a proved session and for
// everything that is opened below it, so that what keeps the parent through a busy section keeps its
// children too. Each session has its own authority; the proof of progress is the process's.

import { Worker } from 'node:worker_threads';
import { type Moment, momentOf } from '../lease/authority.ts';
import type { HeartbeatListener, HeartbeatSource } from '../lease/keeper.ts';
import type { SourceOf } from '../lease/live-session.ts';
import type { SessionId } from '../lease/names.ts';
import type { HeartbeatAnswer, StoreAddress } from '../lease/port.ts';
import { systemClock } from '../support/clock.ts';
import { systemTimers } from '../support/timer.ts';
import { Pulse } from './pulse.ts';

/** What the thread is started with. */
export interface ThreadOrders {
  readonly address: StoreAddress;
  readonly stallMs: number;
  /** Where the main thread shows that it makes progress. */
  readonly memory: SharedArrayBuffer;
}

/** One session to send heartbeats for, or to leave alone from now on. */
export type ThreadOrder =
  | {
      readonly kind: 'keep';
      readonly id: string;
      readonly owner: string;
      readonly ttlMs: number;
      readonly driftPpm: number;
      readonly guardMs: number;
      /** End the process when the main thread still stands still this long after authority ended. */
      readonly exitAfterMs?: number;
      /** Where the authority of this session is published. */
      readonly memory: SharedArrayBuffer;
    }
  | { readonly kind: 'drop'; readonly id: string };

export type ThreadNews =
  | {
      readonly kind: 'answered';
      readonly id: SessionId;
      readonly answer: HeartbeatAnswer;
      readonly sentAt: Moment;
    }
  | { readonly kind: 'troubled'; readonly id: SessionId; readonly cause: string };

/** How often the event loop shows that it turns, for each stretch it may stand still. */
const TURNS_PER_STALL = 4;

export class KeeperThread {
  /** Of the first session; the main thread's proof of progress is in it, for all of them. */
  readonly pulse: Pulse = new Pulse();
  readonly #orders: ThreadOrders;
  readonly #exitOnOverrun: boolean;
  readonly #listeners: Map<SessionId, HeartbeatListener> = new Map();
  readonly #heard: PromiseWithResolvers<void> = Promise.withResolvers();
  #worker: Worker | undefined;
  #root: SessionId | undefined;
  #over = false;
  #cancelTurn: () => void = () => undefined;

  constructor(address: StoreAddress, options: { stallMs: number; exitOnOverrun: boolean }) {
    this.#orders = { address, stallMs: options.stallMs, memory: this.pulse.memory };
    this.#exitOnOverrun = options.exitOnOverrun;
    this.#heard.promise.catch(() => undefined);
  }

  /** Settles with the first answer that came through the thread, or with what went wrong before. */
  get heard(): Promise<void> {
    return this.#heard.promise;
  }

  /** Undefined for a session that lives by a clock of its own, which no thread can read. */
  sourceOf(opened: Parameters<SourceOf>[0]): HeartbeatSource | undefined {
    const { id, ttlMs, config } = opened;
    if (config.clock !== systemClock || this.#over) return undefined;
    const isRoot = this.#root === undefined;
    this.#root ??= id;
    const pulse = isRoot ? this.pulse : new Pulse();
    const { owner, caution } = config;
    // G-1: as the store cuts it. What is below the first session ends with it.
    const graceMs = Math.min(config.graceMs, Math.floor(ttlMs / 2));
    const exit = isRoot && this.#exitOnOverrun ? { exitAfterMs: graceMs } : {};
    return {
      start: (listener) => {
        this.#listeners.set(id, listener);
        if (isRoot) this.#start();
        const { memory } = pulse;
        this.#tell({ kind: 'keep', id, owner, ttlMs, ...caution, ...exit, memory });
      },
      remainingMs: (notices) => pulse.remainingMs(momentOf(systemClock), notices),
      stop: () => this.#stop(id),
    };
  }

  #start(): void {
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const file = new URL(`./keeper-thread.${extension}`, import.meta.url);
    this.#turn();
    let why = 'the thread has ended';
    this.#worker = new Worker(file, { workerData: this.#orders });
    this.#worker.on('message', (news: ThreadNews) => this.#hear(news));
    this.#worker.on('error', (error: unknown) => {
      why = `the thread has ended: ${error instanceof Error ? error.message : String(error)}`;
      this.#heard.reject(error);
    });
    this.#worker.once('exit', () => this.#end(why));
    this.#worker.unref();
  }

  #hear(news: ThreadNews): void {
    const listener = this.#listeners.get(news.id);
    if (news.kind === 'answered') {
      listener?.answered(news.answer, news.sentAt);
      this.#heard.resolve();
    } else {
      listener?.troubled(`heartbeat: ${news.cause}`);
      // A thread that cannot do its work is found out before it is relied on.
      this.#heard.reject(new Error(news.cause));
    }
  }

  /** Whoever it kept has to keep itself from now on. */
  #end(why: string): void {
    this.#over = true;
    this.#cancelTurn();
    this.#heard.reject(new Error(why));
    const listeners = [...this.#listeners.values()];
    this.#listeners.clear();
    for (const listener of listeners) listener.ended(why);
  }

  /** The thread ends with the session it was started for; what was below that one has ended too. */
  async #stop(id: SessionId): Promise<void> {
    this.#listeners.delete(id);
    if (id !== this.#root) {
      this.#tell({ kind: 'drop', id });
      return;
    }
    this.#cancelTurn();
    await this.#worker?.terminate();
  }

  #tell(order: ThreadOrder): void {
    this.#worker?.postMessage(order);
  }

  #turn(): void {
    this.pulse.turn(systemClock.monotonicMs());
    const nextMs = this.#orders.stallMs / TURNS_PER_STALL;
    this.#cancelTurn = systemTimers.after(nextMs, () => this.#turn());
  }
}
