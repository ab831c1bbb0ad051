// A session whose heartbeats prove progress. They come from a thread, so a busy event loop does
// not lose its leases; but they go out only while the main thread has turned lately, or is within a
// busy section that it announced with a bound. A wedged process does lose them.

import { Worker } from 'node:worker_threads';
import { type Moment, momentOf } from '../lease/authority.ts';
import type { HeartbeatListener, HeartbeatSource } from '../lease/keeper.ts';
import { openUnder, type Session, type SourceOf } from '../lease/live-session.ts';
import type { SessionId } from '../lease/names.ts';
import type { HeartbeatAnswer, StoreAddress } from '../lease/port.ts';
import { BEATS_PER_TTL } from '../lease/session.ts';
import {
  resolveSessionOptions,
  SESSION_OPTION_NAMES,
  type SessionOptions,
} from '../lease/session-options.ts';
import { systemClock } from '../support/clock.ts';
import { InvalidInput, StoreUnavailable } from '../support/fault.ts';
import { optionalBooleans, rejectUnknownOptions, wholeNumber } from '../support/options.ts';
import { systemTimers } from '../support/timer.ts';
import { ThreadPulse } from './pulse.ts';

export interface ProvedSessionOptions extends Omit<SessionOptions, 'clock' | 'timers' | 'random'> {
  /** The event loop may stand still this long, unannounced. Default half of the ttl. */
  readonly stallMs?: number;
  /**
   * End the process, from the thread, when its event loop still stands still at the end of the grace,
   * right before somebody else may enter. Default false: it goes on, and only fences order its writes.
   */
  readonly exitOnOverrun?: boolean;
}

export interface ProvedSession extends Session {
  /** Runs work that holds up the event loop, for `ms` at most; heartbeats go on that long. */
  busy<Result>(ms: number, work: () => Result): Result;
}

const NAMES = ['stallMs', 'exitOnOverrun'];

export async function openProvedSession(options: ProvedSessionOptions): Promise<ProvedSession> {
  rejectUnknownOptions('openProvedSession', options, [...SESSION_OPTION_NAMES, ...NAMES]);
  const { stallMs: asked, exitOnOverrun = false, ...rest } = options;
  optionalBooleans('openProvedSession', { exitOnOverrun });
  const config = resolveSessionOptions(rest, 'openProvedSession');
  const { address } = config.store;
  if (address === undefined) {
    throw new InvalidInput(
      `A proved session needs a store that a thread can open too; the ${config.store.kind} store as it was opened here cannot. Use a SQLite file or PostgreSQL, without a clock of your own.`,
    );
  }
  const stallMs = wholeNumber('stallMs', asked ?? Math.floor(config.ttlMs / 2), {
    min: 10,
    max: config.ttlMs * 100,
  });
  const thread = new KeeperThread(address, { stallMs, exitOnOverrun });
  const { pulse } = thread;
  const session = await openUnder({ sourceOf: (opened) => thread.sourceOf(opened) }, rest);
  await untilHeard(session, thread);
  let announcedUntil = 0;
  return Object.assign(session, {
    busy<Result>(ms: number, work: () => Result): Result {
      wholeNumber('ms', ms, { min: 1, max: 86_400_000 });
      // A section inside another one does not take the rest of the outer one away.
      const outerUntil = announcedUntil;
      announcedUntil = Math.max(outerUntil, systemClock.monotonicMs() + ms);
      pulse.busyUntil(announcedUntil);
      try {
        return work();
      } finally {
        pulse.turn(systemClock.monotonicMs());
        announcedUntil = outerUntil;
        pulse.busyUntil(outerUntil);
      }
    },
  });
}

/**
 * A thread takes a while to load, longer than a short ttl on a busy machine: until its first heartbeat
 * was answered the event loop sends them. A thread that cannot do its work is found out here.
 */
async function untilHeard(session: Session, thread: KeeperThread): Promise<void> {
  const heard = new AbortController();
  const beat = async (): Promise<void> => {
    while (!heard.signal.aborted) {
      await session.heartbeat().catch(() => undefined);
      await systemTimers.pause(session.ttlMs / BEATS_PER_TTL, heard.signal);
    }
  };
  const beating = beat();
  try {
    await thread.heard;
  } catch (cause) {
    await session.close('abandoned');
    throw new StoreUnavailable('The thread of the proved session cannot reach the store.', {
      cause,
    });
  } finally {
    heard.abort();
    await beating;
  }
}

// The main thread's side of the thread that sends heartbeats: one thread for a proved session and for
// everything that is opened below it, so that what keeps the parent through a busy section keeps its
// children too. Each session has its own authority; the proof of progress is the process's.

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

class KeeperThread {
  /** Of the first session; the main thread's proof of progress is in it, for all of them. */
  readonly pulse: ThreadPulse = new ThreadPulse();
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
    const pulse = isRoot ? this.pulse : new ThreadPulse();
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
