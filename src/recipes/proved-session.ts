// A session whose heartbeats prove progress. They come from a thread, so a busy event loop does
// not lose its leases; but they go out only while the main thread has turned lately, or is within a
// busy section that it announced with a bound. A wedged process does lose them.

import { Worker } from 'node:worker_threads';
import { type Moment, momentOf } from '../lease/authority.ts';
import type { HeartbeatSource } from '../lease/keeper.ts';
import { openUnder, type Session } from '../lease/live-session.ts';
import type { HeartbeatAnswer, StoreAddress } from '../lease/port.ts';
import { resolveSessionOptions, type SessionOptions } from '../lease/session-options.ts';
import { systemClock } from '../support/clock.ts';
import { InvalidInput, StoreUnavailable } from '../support/fault.ts';
import { wholeNumber } from '../support/options.ts';
import { systemTimers } from '../support/timer.ts';
import { Pulse } from './pulse.ts';

export interface ProvedSessionOptions extends Omit<SessionOptions, 'clock' | 'timers' | 'random'> {
  /** The event loop may stand still this long, unannounced. Default half of the ttl. */
  readonly stallMs?: number;
}

export interface ProvedSession extends Session {
  /** Runs work that holds up the event loop, for `ms` at most; heartbeats go on that long. */
  busy<Result>(ms: number, work: () => Result): Result;
}

/** What the thread is started with. */
export interface ThreadOrders {
  readonly address: StoreAddress;
  readonly id: string;
  readonly owner: string;
  readonly ttlMs: number;
  readonly stallMs: number;
  readonly driftPpm: number;
  readonly guardMs: number;
  readonly memory: SharedArrayBuffer;
}

export interface ThreadNews {
  readonly answer: HeartbeatAnswer;
  readonly sentAt: Moment;
}

/** How often the event loop shows that it turns, for each stretch it may stand still. */
const TURNS_PER_STALL = 4;
const BEATS_PER_TTL = 3;

export async function openProvedSession(options: ProvedSessionOptions): Promise<ProvedSession> {
  const { stallMs: asked, ...rest } = options;
  const config = resolveSessionOptions(rest);
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
  const pulse = new Pulse();
  const threads: ThreadSource[] = [];
  const sourceOf = (opened: { readonly id: string; readonly ttlMs: number }): ThreadSource => {
    const thread = new ThreadSource(pulse, {
      address,
      id: opened.id,
      owner: config.owner,
      ttlMs: opened.ttlMs,
      stallMs,
      ...config.caution,
      memory: pulse.memory,
    });
    threads.push(thread);
    return thread;
  };
  const session = await openUnder({ sourceOf }, rest);
  for (const thread of threads) await untilHeard(session, thread);
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
async function untilHeard(session: Session, thread: ThreadSource): Promise<void> {
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

class ThreadSource implements HeartbeatSource {
  readonly #pulse: Pulse;
  readonly #orders: ThreadOrders;
  readonly #heard: PromiseWithResolvers<void> = Promise.withResolvers();
  #worker: Worker | undefined;
  #cancelTurn: () => void = () => undefined;

  constructor(pulse: Pulse, orders: ThreadOrders) {
    this.#pulse = pulse;
    this.#orders = orders;
    this.#heard.promise.catch(() => undefined);
  }

  /** Settles with the first answer that came through the thread, or with what ended it before. */
  get heard(): Promise<void> {
    return this.#heard.promise;
  }

  start(deliver: (answer: HeartbeatAnswer, sentAt: Moment) => void): void {
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const file = new URL(`./keeper-thread.${extension}`, import.meta.url);
    this.#turn();
    this.#worker = new Worker(file, { workerData: this.#orders });
    this.#worker.on('message', (news: ThreadNews) => {
      deliver(news.answer, news.sentAt);
      this.#heard.resolve();
    });
    // A thread that dies later sends nothing more: authority runs out by itself, as with any silence.
    this.#worker.on('error', (error) => this.#heard.reject(error));
    this.#worker.once('exit', () => this.#heard.reject(new Error('the thread has ended')));
    this.#worker.unref();
  }

  remainingMs(notices: number): number {
    return this.#pulse.remainingMs(momentOf(systemClock), notices);
  }

  async stop(): Promise<void> {
    this.#cancelTurn();
    await this.#worker?.terminate();
  }

  #turn(): void {
    this.#pulse.turn(systemClock.monotonicMs());
    const nextMs = this.#orders.stallMs / TURNS_PER_STALL;
    this.#cancelTurn = systemTimers.after(nextMs, () => this.#turn());
  }
}
