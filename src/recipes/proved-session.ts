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
import { InvalidInput } from '../support/fault.ts';
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
  const sourceOf = (opened: { readonly id: string; readonly ttlMs: number }): ThreadSource =>
    new ThreadSource(pulse, {
      address,
      id: opened.id,
      owner: config.owner,
      ttlMs: opened.ttlMs,
      stallMs,
      ...config.caution,
      memory: pulse.memory,
    });
  const session = await openUnder({ sourceOf }, rest);
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

class ThreadSource implements HeartbeatSource {
  readonly #pulse: Pulse;
  readonly #orders: ThreadOrders;
  #worker: Worker | undefined;
  #cancelTurn: () => void = () => undefined;

  constructor(pulse: Pulse, orders: ThreadOrders) {
    this.#pulse = pulse;
    this.#orders = orders;
  }

  start(deliver: (answer: HeartbeatAnswer, sentAt: Moment) => void): void {
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const file = new URL(`./keeper-thread.${extension}`, import.meta.url);
    this.#turn();
    this.#worker = new Worker(file, { workerData: this.#orders });
    this.#worker.on('message', (news: ThreadNews) => deliver(news.answer, news.sentAt));
    // A thread that dies sends nothing more: authority runs out by itself, as with any silence.
    this.#worker.on('error', () => undefined);
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
