// The heartbeat loop: sends the session's heartbeats and derives authority from their replies.
//
//   R-3  A reply renews the session, reports its loss, or is unknown. Unknown neither extends nor
//        ends anything; the deadline ends authority by itself.
//   R-4  Heartbeats come about every third of the ttl, jittered. The first one is early, so that
//        fleets spread out.
//   R-5  A heartbeat that hangs does not delay the next one. A late reply counts from when its
//        request was sent, and only if that still helps (C-6).
//   V-1  If the store has a notice for this session, the loop checks its leases *before* it extends
//        authority. So no holder is promised time that a drain has taken away.

import { jittered } from '../support/random.ts';
import { Authority, type Moment, momentOf } from './authority.ts';
import { lookUp } from './look-up.ts';
import { causeOf } from './observer.ts';
import type { HeartbeatResult } from './port.ts';
import { BEATS_PER_TTL, RETRIES_PER_TTL } from './session.ts';
import type { SessionCore } from './session-core.ts';
import { isStoreOutage, type StoreOutage } from './store-call.ts';

/** Another sender of heartbeats, such as a thread that a busy event loop cannot delay. */
export interface HeartbeatSource {
  start(listener: HeartbeatListener): void;
  /** The authority that it knows of but has not delivered yet, if this notice is still the last. */
  remainingMs(notices: number): number;
  stop(): Promise<void>;
}

/** Callbacks of a source, each called from the event loop. */
export interface HeartbeatListener {
  /** Called for every reply, with the moment at which its request left. */
  answered(result: HeartbeatResult, sentAt: Moment): void;
  /** A heartbeat failed in a way that no store should cause. The source continues. */
  troubled(cause: string): void;
  /** The source ended without being stopped, and sends nothing more. */
  ended(cause: string): void;
}

const JITTER = 0.1;
/** The most rounds of checks caused by leases that were granted during a check. */
const LOOKUPS_MAX = 5;

export class HeartbeatLoop {
  readonly #core: SessionCore;
  readonly #source: HeartbeatSource | undefined;
  readonly #stop: AbortController = new AbortController();
  #ttlMs: number;
  #attempt = 0;
  #cancelLapse: () => void = () => undefined;
  #running: Promise<void> | undefined;
  #beating = false;
  #hasLapsed = false;

  constructor(
    core: SessionCore,
    opened: { readonly ttlMs: number; readonly notices: number; readonly source?: HeartbeatSource },
  ) {
    this.#core = core;
    this.#source = opened.source;
    this.#ttlMs = opened.ttlMs;
    core.notices = opened.notices;
    core.changedAbove = () => this.#checkAbove();
  }

  /** Starts with the first reply about the session's time, counted from when it was requested. */
  start(grantedMs: number, sentAt: Moment): void {
    this.#extend(grantedMs, sentAt);
    if (!this.#core.relay.idle) this.#core.lag.start();
    this.#reportSettings();
    const source = this.#source;
    if (source === undefined) {
      this.#running = this.#run();
      return;
    }
    this.#core.undelivered = () => source.remainingMs(this.#core.notices);
    source.start({
      answered: (result, sent) => {
        this.#take(result, sent)
          .then(() => this.#settleDisowned())
          .catch((fault: unknown) => this.#core.trouble(causeOf(fault)));
      },
      troubled: (cause) => this.#core.trouble(cause),
      ended: (cause) => this.#takeOver(cause),
    });
  }

  /** Without its source, the event loop of this process sends the heartbeats. */
  #takeOver(cause: string): void {
    if (this.#stop.signal.aborted) return;
    this.#core.undelivered = () => 0;
    this.#core.trouble(cause);
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#cancelLapse();
    await this.stopBeating();
  }

  /**
   * Stops the heartbeats. The granted time runs out by itself, and the lapse is still announced.
   */
  async stopBeating(): Promise<void> {
    this.#stop.abort();
    const { lag, config } = this.#core;
    // Stop only after the report of the heartbeat that found the session lost, with the pause that
    // caused it.
    config.timers.soon(() => lag.stop());
    this.#core.undelivered = () => 0;
    await this.#source?.stop();
    // Do not wait for a heartbeat under way; its reply is dropped (L-8).
    if (!this.#beating) await this.#running;
  }

  async #run(): Promise<void> {
    const { timers, random } = this.#core.config;
    const { signal } = this.#stop;
    await timers.pause(jittered(random, this.#ttlMs / BEATS_PER_TTL / 2, 0.9), signal);
    while (!signal.aborted) {
      this.#beating = true;
      const parts = (await this.#beatSafely()) ? BEATS_PER_TTL : RETRIES_PER_TTL;
      this.#beating = false;
      await timers.pause(jittered(random, this.#ttlMs / parts, JITTER), signal);
    }
  }

  /** An unexpected fault ends nothing either. The deadline ends authority. */
  async #beatSafely(): Promise<boolean> {
    try {
      const result = await this.beat();
      if (isStoreOutage(result)) return false;
      this.#settleDisowned();
      return true;
    } catch {
      // The call itself has reported the fault.
      return false;
    }
  }

  /** Runs in parallel to the heartbeats and never delays the next one. */
  #settleDisowned(): void {
    const { disowned } = this.#core;
    disowned.settle(this.#core).catch((fault: unknown) => this.#core.trouble(causeOf(fault)));
  }

  /**
   * Sends one heartbeat now, for tests and for callers that want fresh authority before a long
   * effect.
   */
  async beat(): Promise<HeartbeatResult | StoreOutage> {
    const { config, id, sessions } = this.#core;
    const sentAt = momentOf(config.clock);
    this.#attempt += 1;
    return this.#core.call('heartbeat', {
      attempt: this.#attempt,
      call: async () => {
        const result = await sessions.heartbeat({ id, owner: config.owner });
        // Process the reply inside the call, so that a reply after the time-out still counts.
        await this.#take(result, sentAt);
        return result;
      },
    });
  }

  async #take(result: HeartbeatResult, sentAt: Moment): Promise<void> {
    if (this.#stop.signal.aborted) return;
    if (result.kind === 'refused') {
      if (result.why !== 'would-shorten') this.#core.lost(result);
      return;
    }
    this.#attempt = 0;
    const changed = this.#ttlMs !== result.ttlMs;
    this.#ttlMs = result.ttlMs;
    if (changed) this.#reportSettings();
    if (result.notices !== this.#core.notices && !(await this.#reconcile(result.notices))) return;
    if (!this.#stop.signal.aborted) this.#extend(result.authorityMs, sentAt);
  }

  /** Checks every lease that the session carries, including those granted meanwhile. */
  async #reconcile(notices: number): Promise<boolean> {
    const { handles } = this.#core;
    for (let round = 1; round <= LOOKUPS_MAX; round += 1) {
      const known = new Set(handles.values());
      if (!(await lookUp(this.#core, [...known]))) return false;
      if ([...handles.values()].every((handle) => known.has(handle))) {
        this.#core.notices = notices;
        return true;
      }
    }
    return false;
  }

  #extend(grantedMs: number, sentAt: Moment): void {
    const { clock, caution, timers } = this.#core.config;
    const authority = new Authority(clock, { sentAt, grantedMs }, caution);
    const remaining = authority.remainingMs();
    if (remaining <= 0 || remaining < this.#core.ownRemainingMs()) return;
    this.#hasLapsed ||= this.#core.authority !== undefined && this.#core.remainingMs() <= 0;
    this.#core.authority = authority;
    this.#cancelLapse();
    this.#cancelLapse = timers.after(remaining, () => this.#lapse());
    this.#regain();
  }

  /** Authority was extended, for this session or an ancestor. */
  #regain(): void {
    if (this.#hasLapsed && this.#core.remainingMs() > 0) {
      this.#hasLapsed = false;
      this.#report('rejoined');
    }
    this.#core.settleWaiting();
    for (const child of [...this.#core.below]) child.changedAbove();
  }

  #checkAbove(): void {
    const { authority, above } = this.#core;
    if (authority === undefined || above === undefined) return;
    if (above.remainingMs() <= 0) this.#lapse();
    else if (this.#core.ownRemainingMs() > 0) this.#regain();
    // Without the ancestor's authority there was none to get. Now there may be (G-3).
    else if (!this.#stop.signal.aborted) void this.#beatSafely();
  }

  #lapse(): void {
    // Timers may fire a millisecond early, so the clocks decide.
    const remaining = this.#core.remainingMs();
    if (remaining > 0) {
      const againMs = Math.max(1, remaining);
      this.#cancelLapse = this.#core.config.timers.after(againMs, () => this.#lapse());
      return;
    }
    if (!this.#hasLapsed) this.#report('lapsed');
    this.#hasLapsed = true;
    for (const handle of [...this.#core.handles.values()]) handle.withdraw('lapsed');
    for (const child of [...this.#core.below]) child.changedAbove();
    // The session is orphaned and never comes back, but its parent may live long. Remove it there.
    if (this.#stop.signal.aborted) this.#core.above?.below.delete(this.#core);
  }

  #reportSettings(): void {
    const { config, id, relay } = this.#core;
    relay.report({
      kind: 'settings',
      session: id,
      owner: config.owner,
      ttlMs: this.#ttlMs,
      // The store cuts the grace to half the ttl (G-1).
      graceMs: Math.min(config.graceMs, Math.floor(this.#ttlMs / 2)),
      ...config.caution,
      heartbeatMs: this.#ttlMs / BEATS_PER_TTL,
      retryMs: this.#ttlMs / RETRIES_PER_TTL,
      lagEveryMs: this.#core.lag.everyMs,
    });
  }

  #report(kind: 'lapsed' | 'rejoined'): void {
    const { id, relay, handles } = this.#core;
    relay.report({ kind, session: id, leases: handles.size });
  }
}
