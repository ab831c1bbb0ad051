// A holder and its store as a handful of numbers, simulated step by step: heartbeats with jitter
// and latency that may fail, pauses that stop everything, and the store's clock. It follows the
// rules of the heartbeat loop without the advisor's formulas, so it can check them.

import { authorityUnder, type LeaseSettings } from '../../src/observe/advisor/model.ts';
import type { LogEntry } from '../../src/observe/lease-log/entry.ts';
import type { Random } from '../../src/support/random.ts';

export interface World {
  readonly random: Random;
  readonly failure: number;
  readonly medianLatencyMs: number;
  readonly pausesPerHour: number;
  /** One length of a pause. */
  readonly pauseMs: (random: Random) => number;
  readonly driftPpm: number;
}

export interface Lived {
  readonly hours: number;
  readonly losses: number;
  readonly lapses: number;
  readonly log: readonly LogEntry[];
}

export const HOUR_MS = 3_600_000;
const LAG_EVERY_MS = 200;

export function exponential(mean: number): (random: Random) => number {
  return (random) => -mean * Math.log(1 - random.next());
}

/** A Pareto law: most are short, a few are very long. */
export function heavyTailed(least: number, shape: number): (random: Random) => number {
  return (random) => least * (1 - random.next()) ** (-1 / shape);
}

export class SimulatedHolder {
  readonly #world: World;
  readonly #settings: LeaseSettings;
  readonly #keepsLog: boolean;
  readonly #log: LogEntry[] = [];
  #now = 0;
  #pauseAt: number;
  #lagMs = 0;
  #session = 0;
  #losses = 0;
  #lapses = 0;
  #goodSentAt = 0;
  #expiresAt = 0;
  #attempt = 0;

  constructor(world: World, settings: LeaseSettings, keepsLog: boolean) {
    this.#world = world;
    this.#settings = settings;
    this.#keepsLog = keepsLog;
    this.#pauseAt = this.#gap();
    this.#open();
  }

  live(hours: number): Lived {
    const { ttlMs, heartbeatMs } = this.#settings;
    let pauseMs = heartbeatMs;
    while (this.#now < hours * HOUR_MS) {
      this.#wait(pauseMs * (0.9 + 0.2 * this.#world.random.next()));
      pauseMs = this.#beat() ? heartbeatMs : ttlMs / 20;
    }
    const { hours: _, ...lived } = { hours, losses: this.#losses, lapses: this.#lapses };
    return { hours, ...lived, log: this.#log };
  }

  /** Dies at a random moment, and returns how long its key stays without a holder. */
  die(delayMs: number): number {
    const { heartbeatMs } = this.#settings;
    const diesAt = this.#now + (3 + this.#world.random.next() * 20) * heartbeatMs;
    while (this.#now < diesAt) {
      const before = { now: this.#now, expiresAt: this.#expiresAt };
      this.#wait(heartbeatMs * (0.9 + 0.2 * this.#world.random.next()));
      if (this.#now >= diesAt) return before.expiresAt - diesAt + delayMs;
      const expiresAt = this.#expiresAt;
      this.#beat();
      // It died while its last heartbeat was on its way there or back.
      if (this.#now >= diesAt) return expiresAt - diesAt + delayMs;
    }
    return this.#expiresAt - diesAt + delayMs;
  }

  #open(): void {
    this.#session += 1;
    this.#goodSentAt = this.#now;
    this.#expiresAt = this.#now + this.#settings.ttlMs;
    if (!this.#keepsLog) return;
    const { ttlMs, graceMs, guardMs, heartbeatMs } = this.#settings;
    this.#report({
      kind: 'settings',
      owner: 'simulated',
      ttlMs,
      graceMs,
      guardMs,
      heartbeatMs,
      retryMs: ttlMs / 20,
      driftPpm: this.#world.driftPpm,
      lagEveryMs: LAG_EVERY_MS,
    });
    this.#operation({ operation: 'open-session', outcome: 'ok', latencyMs: 0 });
  }

  #beat(): boolean {
    const { random, failure } = this.#world;
    const latencyMs = this.#latency();
    const sentAt = this.#now;
    const arrivesAt = sentAt + latencyMs / 2;
    this.#attempt += 1;
    this.#wait(latencyMs);
    if (random.next() < failure) {
      this.#operation({ operation: 'heartbeat', outcome: 'unavailable', latencyMs });
      return false;
    }
    const answeredMs = this.#now - sentAt;
    if (arrivesAt > this.#expiresAt) {
      this.#losses += 1;
      this.#lapses += 1;
      this.#operation({ operation: 'heartbeat', outcome: 'expired', latencyMs: answeredMs });
      this.#report({ kind: 'lost', leases: 1 });
      this.#open();
      return true;
    }
    if (this.#now > this.#goodSentAt + authorityUnder(this.#settings, this.#world.driftPpm)) {
      this.#lapses += 1;
    }
    this.#operation({ operation: 'heartbeat', outcome: 'ok', latencyMs: answeredMs });
    this.#attempt = 0;
    this.#goodSentAt = sentAt;
    this.#expiresAt = arrivesAt + this.#settings.ttlMs;
    return true;
  }

  /** Time passes; a pause that begins meanwhile may make it more. */
  #wait(ms: number): void {
    const dueAt = this.#now + ms;
    while (this.#pauseAt <= dueAt) {
      const pauseMs = this.#world.pauseMs(this.#world.random);
      const endsAt = this.#pauseAt + pauseMs;
      this.#lagMs = Math.max(this.#lagMs, pauseMs - LAG_EVERY_MS * this.#world.random.next());
      this.#now = Math.max(this.#now, endsAt);
      this.#pauseAt = endsAt + this.#gap();
      if (endsAt >= dueAt) return;
    }
    this.#now = dueAt;
  }

  #gap(): number {
    return exponential(HOUR_MS / this.#world.pausesPerHour)(this.#world.random);
  }

  /** Log-normal: the p99 is about four times the median. */
  #latency(): number {
    const { random, medianLatencyMs } = this.#world;
    const normal =
      Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
    return medianLatencyMs * Math.exp(0.6 * normal);
  }

  #operation(done: {
    readonly operation: string;
    readonly outcome: string;
    readonly latencyMs: number;
  }): void {
    this.#report({
      kind: 'operation',
      ...done,
      remainingAtSendMs: this.#expiresAt - this.#now,
      remainingAtReplyMs: this.#expiresAt - this.#now,
      loopLagMs: this.#lagMs,
      suspendedMs: 0,
      attempt: this.#attempt,
    });
    this.#lagMs = 0;
  }

  #report(report: Readonly<Record<string, unknown>>): void {
    if (!this.#keepsLog) return;
    const session = `simulated-${this.#session}`;
    const entry = { kind: 'report', report: { ...report, session, at: this.#now } };
    this.#log.push(entry as unknown as LogEntry);
  }
}
