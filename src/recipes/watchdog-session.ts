// A watchdog session, whose heartbeats prove progress. A thread sends them, so a busy event
// loop does not lose its leases. It sends them only while the main thread has turned recently, or
// is within a busy section that it announced with a limit. A stuck process loses its leases.

import { Worker } from 'node:worker_threads';
import { type Moment, momentOf } from '../lease/authority.ts';
import type { HeartbeatListener, HeartbeatSource } from '../lease/heartbeat-loop.ts';
import { openUnder, type Session, type SourceOf } from '../lease/live-session.ts';
import type { SessionId } from '../lease/names.ts';
import type { HeartbeatResult, StoreAddress } from '../lease/port.ts';
import { BEATS_PER_TTL } from '../lease/session.ts';
import {
  resolveSessionOptions,
  SESSION_OPTION_NAMES,
  type SessionOptions,
} from '../lease/session-options.ts';
import { systemClock } from '../support/clock.ts';
import { InvalidInput, StoreUnavailable } from '../support/fault.ts';
import { integerOption, optionalBooleans, rejectUnknownOptions } from '../support/options.ts';
import { systemTimers } from '../support/timer.ts';
import { ThreadPulse } from './pulse.ts';

/** Options of `openWatchdogSession`. */
export interface WatchdogSessionOptions
  extends Omit<SessionOptions, 'clock' | 'timers' | 'random'> {
  /** Milliseconds that the event loop may stand still without `busy`. Default ttl / 2. */
  readonly stallMs?: number;
  /**
   * True: the thread kills the process if the event loop still stands still at the end of the
   * grace. Default false: the process continues, and only fences stop its writes.
   */
  readonly exitOnOverrun?: boolean;
}

/**
 * A session whose heartbeats a thread sends, as long as the main thread makes progress.
 *
 * @example
 * await using session = await openWatchdogSession({ store, owner: 'encoder@host-3' });
 * session.busy(30_000, () => encodeSync());
 */
export interface WatchdogSession extends Session {
  /**
   * Runs synchronous work that blocks the event loop for at most `ms` milliseconds. Heartbeats
   * continue for that long.
   */
  busy<Result>(ms: number, work: () => Result): Result;
}

const NAMES = ['stallMs', 'exitOnOverrun'];

/**
 * Opens a session whose heartbeats a thread sends, so that a busy event loop does not lose its
 * leases.
 *
 * The thread stops when the main thread makes no progress for `stallMs`, so a hung process does
 * lose them. Throws `InvalidInput` if a thread cannot open the store (use a SQLite file,
 * PostgreSQL, Redis by URL or etcd), and `StoreUnavailable` or `SessionRefused` as `openSession`
 * does.
 *
 * @example
 * await using session = await openWatchdogSession({ store, owner: 'encoder@host-3' });
 * session.busy(30_000, () => encodeSync());
 */
export async function openWatchdogSession(
  options: WatchdogSessionOptions,
): Promise<WatchdogSession> {
  rejectUnknownOptions('openWatchdogSession', options, [...SESSION_OPTION_NAMES, ...NAMES]);
  const { stallMs: givenStallMs, exitOnOverrun = false, ...rest } = options;
  optionalBooleans('openWatchdogSession', { exitOnOverrun });
  const config = resolveSessionOptions(rest, 'openWatchdogSession');
  const { address } = config.store;
  if (address === undefined) {
    throw new InvalidInput(
      `A watchdog session opens the store in a second thread, which this ${config.store.kind} store does not allow. No session was opened. Use a SQLite file, PostgreSQL, Redis by URL or etcd, without a clock, timers, random source or client of your own.`,
    );
  }
  const stallMs = integerOption('stallMs', givenStallMs ?? Math.floor(config.ttlMs / 2), {
    min: 10,
    max: config.ttlMs * 100,
  });
  const thread = new HeartbeatThread(address, { stallMs, exitOnOverrun });
  const { pulse } = thread;
  const session = await openUnder({ sourceOf: (opened) => thread.sourceOf(opened) }, rest);
  await untilFirstReply(session, thread);
  let announcedUntil = 0;
  return Object.assign(session, {
    busy<Result>(ms: number, work: () => Result): Result {
      integerOption('ms', ms, { min: 1, max: 86_400_000 });
      // A nested section must not shorten the outer one.
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
 * A thread may take longer to load than a short ttl on a busy machine. Until its first heartbeat
 * gets a reply, the event loop sends them. A thread that cannot work is detected here.
 */
async function untilFirstReply(session: Session, thread: HeartbeatThread): Promise<void> {
  const done = new AbortController();
  const beat = async (): Promise<void> => {
    while (!done.signal.aborted) {
      await session.heartbeat().catch(() => undefined);
      await systemTimers.pause(session.ttlMs / BEATS_PER_TTL, done.signal);
    }
  };
  const beating = beat();
  try {
    await thread.firstReply;
  } catch (cause) {
    await session.close('abandoned');
    throw new StoreUnavailable(
      'The thread of the watchdog session cannot reach the store. No session was opened. Check the store.',
      { cause },
    );
  } finally {
    done.abort();
    await beating;
  }
}

// The main thread's side of the heartbeat thread. One thread serves a watchdog session and its
// descendants, so that a busy section which keeps the parent also keeps its children. Each
// session has its own authority; the proof of progress belongs to the process.

/** The data that the thread starts with. */
export interface ThreadOrders {
  readonly address: StoreAddress;
  readonly stallMs: number;
  /** The memory in which the main thread shows its progress. */
  readonly memory: SharedArrayBuffer;
}

/** A session to send heartbeats for, or to stop sending them for. */
export type ThreadOrder =
  | {
      readonly kind: 'keep';
      readonly id: string;
      readonly owner: string;
      readonly ttlMs: number;
      readonly driftPpm: number;
      readonly guardMs: number;
      /** Ends the process if the main thread still blocks this long after authority ended. */
      readonly exitAfterMs?: number;
      /** The memory in which the thread publishes this session's authority. */
      readonly memory: SharedArrayBuffer;
    }
  | { readonly kind: 'drop'; readonly id: string };

export type ThreadMessage =
  | {
      readonly kind: 'answered';
      readonly id: SessionId;
      readonly result: HeartbeatResult;
      readonly sentAt: Moment;
    }
  | { readonly kind: 'troubled'; readonly id: SessionId; readonly cause: string };

/** The event loop shows its progress this many times within an allowed stall. */
const TURNS_PER_STALL = 4;

class HeartbeatThread {
  /**
   * The memory of the first session. It also holds the main thread's proof of progress for all
   * sessions.
   */
  readonly pulse: ThreadPulse = new ThreadPulse();
  readonly #orders: ThreadOrders;
  readonly #exitOnOverrun: boolean;
  readonly #listeners: Map<SessionId, HeartbeatListener> = new Map();
  readonly #firstReply: PromiseWithResolvers<void> = Promise.withResolvers();
  #worker: Worker | undefined;
  #root: SessionId | undefined;
  #over = false;
  #cancelTurn: () => void = () => undefined;

  constructor(address: StoreAddress, options: { stallMs: number; exitOnOverrun: boolean }) {
    this.#orders = { address, stallMs: options.stallMs, memory: this.pulse.memory };
    this.#exitOnOverrun = options.exitOnOverrun;
    this.#firstReply.promise.catch(() => undefined);
  }

  /** Settles with the first reply that came through the thread, or with an earlier error. */
  get firstReply(): Promise<void> {
    return this.#firstReply.promise;
  }

  /** Returns undefined for a session with its own clock, which no thread can read. */
  sourceOf(opened: Parameters<SourceOf>[0]): HeartbeatSource | undefined {
    const { id, ttlMs, config } = opened;
    if (config.clock !== systemClock || this.#over) return undefined;
    const isRoot = this.#root === undefined;
    this.#root ??= id;
    const pulse = isRoot ? this.pulse : new ThreadPulse();
    const { owner, caution } = config;
    // The grace as the store cuts it (G-1). Descendants end with the first session.
    const graceMs = Math.min(config.graceMs, Math.floor(ttlMs / 2));
    const exit = isRoot && this.#exitOnOverrun ? { exitAfterMs: graceMs } : {};
    return {
      start: (listener) => {
        this.#listeners.set(id, listener);
        if (isRoot) this.#start();
        const { memory } = pulse;
        this.#post({ kind: 'keep', id, owner, ttlMs, ...caution, ...exit, memory });
      },
      remainingMs: (notices) => pulse.remainingMs(momentOf(systemClock), notices),
      stop: () => this.#stop(id),
    };
  }

  #start(): void {
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const file = new URL(`./heartbeat-thread.${extension}`, import.meta.url);
    this.#turn();
    let why = 'the thread has ended';
    this.#worker = new Worker(file, { workerData: this.#orders });
    this.#worker.on('message', (message: ThreadMessage) => this.#onMessage(message));
    this.#worker.on('error', (error: unknown) => {
      why = `the thread has ended: ${error instanceof Error ? error.message : String(error)}`;
      this.#firstReply.reject(error);
    });
    this.#worker.once('exit', () => this.#end(why));
    this.#worker.unref();
  }

  #onMessage(message: ThreadMessage): void {
    const listener = this.#listeners.get(message.id);
    if (message.kind === 'answered') {
      listener?.answered(message.result, message.sentAt);
      this.#firstReply.resolve();
    } else {
      listener?.troubled(`heartbeat: ${message.cause}`);
      // Detect a thread that cannot work before anything relies on it.
      this.#firstReply.reject(new Error(message.cause));
    }
  }

  /** The sessions of this thread must send their own heartbeats from now on. */
  #end(why: string): void {
    this.#over = true;
    this.#cancelTurn();
    this.#firstReply.reject(new Error(why));
    const listeners = [...this.#listeners.values()];
    this.#listeners.clear();
    for (const listener of listeners) listener.ended(why);
  }

  /** The thread ends with its first session. The descendants have ended too. */
  async #stop(id: SessionId): Promise<void> {
    this.#listeners.delete(id);
    if (id !== this.#root) {
      this.#post({ kind: 'drop', id });
      return;
    }
    this.#cancelTurn();
    await this.#worker?.terminate();
  }

  #post(order: ThreadOrder): void {
    this.#worker?.postMessage(order);
  }

  #turn(): void {
    this.pulse.turn(systemClock.monotonicMs());
    const nextMs = this.#orders.stallMs / TURNS_PER_STALL;
    this.#cancelTurn = systemTimers.after(nextMs, () => this.#turn());
  }
}
