// Delivers the messages of channels (CH-3 … CH-6, CH-11). Any number of coordinators do it. Each message that
// one of them claims is hidden from the others for a while.
//
//   due channels ──▶ per channel: claim ──▶ send ──▶ record ──┐
//                       ▲────────── until none is due ─────────┘

import type { ProjectName } from '../../execution/names.ts';
import type { Clock } from '../../support/clock.ts';
import type { Code } from '../../support/codes/catalogue.ts';
import { jittered, type Random } from '../../support/random.ts';
import type { Timers } from '../../support/timer.ts';
import {
  type Channel,
  cooldownMs,
  type DeliveryRecord,
  decideAfterAttempt,
  roomOf,
} from './model.ts';
import type { ChannelStore, DueChannels } from './port.ts';

/** The outcome of one attempt. */
export interface SendResult {
  /** The HTTP status, if there was a reply. */
  readonly status?: number;
  /** Why it failed. Absent: the receiver has it. */
  readonly error?: string;
  /** The receiver asks for no more messages. */
  readonly isGone?: boolean;
}

/** Sends one message of one channel. Never rejects. */
export type Send = (
  channel: Channel,
  delivery: DeliveryRecord,
  signal: AbortSignal,
) => Promise<SendResult>;

export interface DeliveryParts {
  readonly store: Pick<
    ChannelStore,
    'dueChannels' | 'claimDeliveries' | 'recordDeliveries' | 'removeDeliveries'
  >;
  readonly send: Send;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  /** The longest time of an attempt. */
  readonly timeoutMs: number;
  readonly keepDays: number;
  /** Reports that something may have happened. Returns the function that ends this. */
  readonly onWakeup?: (listener: () => void) => () => void;
  readonly onFault?: (code: Code, error: unknown) => void;
  /** The share of a project, which its messages take as its requests do (P-18). */
  readonly shares: {
    begin(project: ProjectName): Promise<void>;
    charge(project: ProjectName, weight: number): void;
  };
}

/** How often to check for messages if nothing calls `check`. */
const POLL_MS = 1_000;
const POLL_EMPTY_MS = 10_000;
/** Checks are at least this far apart. */
const GAP_MS = 50;
const SPREAD = 0.1;
/** Messages of one channel at once, and channels of one project at once. */
const ROOM = 16;
const CHANNELS_OF_PROJECT = 8;
/** A claim lasts this many times as long as an attempt may take. */
const LEASE_TIMEOUTS = 2;
const CLEAN_MS = 600_000;
const CLEAN_PAGE = 500;
/** A message is written, claimed, signed, sent and recorded. */
const MESSAGE_WEIGHT = 3;
const DAY_MS = 86_400_000;

export class Deliveries {
  readonly #parts: DeliveryParts;
  readonly #stopping = new AbortController();
  /** The rounds under way, by the `uid` of their channel. */
  readonly #open = new Map<string, { readonly project: string; readonly done: Promise<void> }>();
  #polling: Promise<void> | undefined;
  #cleaning: Promise<void> | undefined;
  #isStarted = false;
  #isWanted = false;
  /** As of the last check. */
  #hasAny = true;
  #pollAt = Number.POSITIVE_INFINITY;
  #cancel: () => void = () => undefined;
  #unwatch: () => void = () => undefined;
  #cleanedAt: number;

  constructor(parts: DeliveryParts) {
    this.#parts = parts;
    this.#cleanedAt = parts.clock.monotonicMs();
  }

  start(): void {
    this.#isStarted = true;
    this.#unwatch =
      this.#parts.onWakeup?.(() => {
        if (this.#hasAny) this.check();
      }) ?? this.#unwatch;
    this.#pollIn(0);
  }

  /** A message may have become due. */
  check(): void {
    if (!this.#isStarted) return;
    if (this.#polling !== undefined) this.#isWanted = true;
    else if (this.#pollAt > this.#parts.clock.monotonicMs() + GAP_MS) this.#pollIn(GAP_MS);
  }

  /** Resolves when no attempt is under way. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the coordinator is stopping'));
    this.#cancel();
    this.#unwatch();
    await this.#polling;
    await this.#cleaning;
    await Promise.all([...this.#open.values()].map(({ done }) => done));
  }

  #pollIn(ms: number): void {
    this.#cancel();
    if (this.#stopping.signal.aborted) return;
    this.#pollAt = this.#parts.clock.monotonicMs() + ms;
    this.#cancel = this.#parts.timers.after(ms, () => {
      this.#polling = this.#poll();
    });
  }

  /** Never rejects. */
  async #poll(): Promise<void> {
    this.#isWanted = false;
    try {
      const { due, hasAny } = await this.#parts.store.dueChannels();
      this.#hasAny = hasAny;
      this.#begin(due);
      this.#cleanWhenDue();
    } catch (error) {
      this.#parts.onFault?.('not-delivered', error);
    }
    this.#polling = undefined;
    const usual = jittered(this.#parts.random, this.#hasAny ? POLL_MS : POLL_EMPTY_MS, SPREAD);
    this.#pollIn(this.#isWanted ? GAP_MS : usual);
  }

  #begin(due: DueChannels['due']): void {
    for (const { project, uid } of due) {
      const rounds = [...this.#open.values()].filter((each) => each.project === project);
      if (this.#open.has(uid) || rounds.length >= CHANNELS_OF_PROJECT) continue;
      const done = this.#deliver(project, uid).finally(() => this.#open.delete(uid));
      this.#open.set(uid, { project, done });
    }
  }

  /** Delivers until nothing is due. Never rejects. */
  async #deliver(project: ProjectName, uid: string): Promise<void> {
    const { store, timeoutMs, onFault, shares } = this.#parts;
    const leaseMs = LEASE_TIMEOUTS * timeoutMs;
    let limit = 1;
    try {
      for (;;) {
        await shares.begin(project);
        if (this.#stopping.signal.aborted) return;
        const claimed = await store.claimDeliveries({ uid, limit, leaseMs });
        if (claimed === undefined || claimed.deliveries.length === 0) return;
        shares.charge(project, claimed.deliveries.length * MESSAGE_WEIGHT);
        limit = roomOf({ failures: await this.#send(claimed) }, ROOM);
      }
    } catch (error) {
      onFault?.('not-delivered', error);
    }
  }

  /** Returns the number of failed attempts. */
  async #send(claimed: {
    readonly channel: Channel;
    readonly deliveries: readonly DeliveryRecord[];
  }): Promise<number> {
    const { channel, deliveries } = claimed;
    const { store, random } = this.#parts;
    const sent = await Promise.all(deliveries.map((each) => this.#attempt(channel, each)));
    // An attempt that this coordinator cut off does not count: another coordinator repeats it.
    const over = sent.flatMap((each) => (each === undefined ? [] : [each]));
    const failed = over.filter(({ attempt }) => attempt.error !== undefined).length;
    const failures = failed === over.length ? failed : 0;
    if (over.length > 0) {
      await store.recordDeliveries({
        channel,
        attempts: over.map(({ delivery, attempt }) => ({
          ...decideAfterAttempt(delivery, attempt, random),
          ...{ id: delivery.id, attempts: delivery.attempts },
        })),
        failures,
        cooldownMs: cooldownMs(channel.failures + failures),
        pauses: over.some(({ isGone }) => isGone),
      });
    }
    return failures;
  }

  async #attempt(channel: Channel, delivery: DeliveryRecord) {
    const { clock, send } = this.#parts;
    const { signal } = this.#stopping;
    const [at, began] = [clock.wallMs(), clock.monotonicMs()];
    const { isGone = false, ...outcome } = await send(channel, delivery, signal);
    if (signal.aborted && outcome.error !== undefined) return undefined;
    const ms = Math.round(clock.monotonicMs() - began);
    return { delivery, attempt: { at: at as DeliveryRecord['at'], ms, ...outcome }, isGone };
  }

  #cleanWhenDue(): void {
    const { clock, onFault } = this.#parts;
    if (this.#cleaning !== undefined || clock.monotonicMs() - this.#cleanedAt < CLEAN_MS) return;
    this.#cleanedAt = clock.monotonicMs();
    this.#cleaning = this.#clean()
      .catch((error: unknown) => onFault?.('not-delivered', error))
      .finally(() => {
        this.#cleaning = undefined;
      });
  }

  /** Leaves room for other writes between its pages, however many messages a project has had. */
  async #clean(): Promise<void> {
    const { store, timers, keepDays } = this.#parts;
    const { signal } = this.#stopping;
    const olderThanMs = keepDays * DAY_MS;
    while (!signal.aborted) {
      const { more } = await store.removeDeliveries({ olderThanMs, limit: CLEAN_PAGE });
      if (!more) return;
      await timers.pause(GAP_MS, signal);
    }
  }
}
