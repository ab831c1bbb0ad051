// The keeper: sends the session's heartbeats and turns their answers into authority.
//
//   R-3  An answer renews, says the session is lost, or is unknown. Unknown neither extends nor
//        ends anything; the deadline does that by itself.
//   R-4  About every third of the ttl, jittered, the first one early so that fleets spread out.
//   R-5  A heartbeat that hangs does not hold up the next one. If its answer comes late it still
//        counts from when it was sent, and only if that is any good (C-6).
//   V-1  When the store has a notice for this session, its leases are looked at *before* authority
//        is extended, so that nobody is promised time that a drain has taken away.

import { whenAborted } from '../support/abort.ts';
import { jittered } from '../support/random.ts';
import { Authority, type Moment, momentOf } from './authority.ts';
import type { HeartbeatAnswer } from './port.ts';
import type { SessionRefusal } from './refusal.ts';
import type { SessionCore } from './session-core.ts';
import { callStore, isUnanswered, type Unanswered } from './store-call.ts';

export interface KeeperEvents {
  readonly lost: (refusal: SessionRefusal) => void;
}

const BEATS_PER_TTL = 3;
const JITTER = 0.1;
/** After no answer: try again this soon. */
const RETRIES_PER_TTL = 20;

export class Keeper {
  readonly #core: SessionCore;
  readonly #events: KeeperEvents;
  readonly #stop: AbortController = new AbortController();
  #notices: number;
  #ttlMs: number;
  #cancelLapse: () => void = () => undefined;
  #running: Promise<void> | undefined;

  constructor(
    core: SessionCore,
    opened: { readonly ttlMs: number; readonly notices: number },
    events: KeeperEvents,
  ) {
    this.#core = core;
    this.#events = events;
    this.#ttlMs = opened.ttlMs;
    this.#notices = opened.notices;
  }

  /** The first answer about this session's time, counted from when it was asked. */
  start(grantedMs: number, sentAt: Moment): void {
    this.#extend(grantedMs, sentAt);
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#cancelLapse();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { timers, random } = this.#core.config;
    const { signal } = this.#stop;
    await timers.pause(jittered(random, this.#ttlMs / BEATS_PER_TTL / 2, 0.9), signal);
    while (!signal.aborted) {
      // L-8: once stopped, nothing waits for a heartbeat that is under way, and its answer is dropped.
      const answered = await Promise.race([this.#beatSafely(), whenAborted(signal)]);
      const parts = answered ? BEATS_PER_TTL : RETRIES_PER_TTL;
      await timers.pause(jittered(random, this.#ttlMs / parts, JITTER), signal);
    }
  }

  /** A fault that is neither "unavailable" nor "unknown" ends nothing either; the deadline does. */
  async #beatSafely(): Promise<boolean> {
    try {
      const answer = await this.beat();
      if (isUnanswered(answer)) return false;
      await this.#core.disowned.settle(this.#core);
      return true;
    } catch (fault) {
      const cause = fault instanceof Error ? fault.message : String(fault);
      this.#report('troubled', cause);
      return false;
    }
  }

  /** One heartbeat now. Also for tests and for whoever wants fresh authority before a long effect. */
  async beat(): Promise<HeartbeatAnswer | Unanswered> {
    const { config, id, sessions } = this.#core;
    const sentAt = momentOf(config.clock);
    return this.#core.call('heartbeat', {
      call: async () => {
        const answer = await sessions.heartbeat({ id, owner: config.owner });
        // Inside the call, not after it: an answer that comes after the time-out still counts.
        await this.#take(answer, sentAt);
        return answer;
      },
    });
  }

  async #take(answer: HeartbeatAnswer, sentAt: Moment): Promise<void> {
    if (this.#stop.signal.aborted) return;
    if (answer.kind === 'refused') {
      if (answer.why !== 'would-shorten') this.#events.lost(answer);
      return;
    }
    this.#ttlMs = answer.ttlMs;
    if (answer.notices !== this.#notices && !(await this.#reconcile(answer.notices))) return;
    if (!this.#stop.signal.aborted) this.#extend(answer.authorityMs, sentAt);
  }

  /** Looks at every lease the session carries; what is missing is lost, what drains has a deadline. */
  async #reconcile(notices: number): Promise<boolean> {
    const { config, id, sessions, handles } = this.#core;
    const before = [...handles.values()];
    const sentAt = momentOf(config.clock);
    const carried = await callStore(
      async () => ({ kind: 'carried', leases: await sessions.leases(id) }) as const,
      this.#ttlMs / BEATS_PER_TTL,
      config.timers,
    );
    if (isUnanswered(carried)) return false;
    const byKey = new Map(carried.leases.map((lease) => [lease.key, lease]));
    for (const handle of before) {
      const lease = byKey.get(handle.key);
      if (lease === undefined || lease.fence !== handle.fence) {
        handle.withdraw('lost', 'It was ended by somebody else.');
        continue;
      }
      if (lease.deadlineInMs !== undefined) handle.setDeadline(lease.deadlineInMs, sentAt);
      if (lease.drain !== undefined) handle.noteDrain(lease.drain);
    }
    this.#notices = notices;
    return true;
  }

  #extend(grantedMs: number, sentAt: Moment): void {
    const { clock, caution, timers } = this.#core.config;
    const authority = new Authority(clock, { sentAt, grantedMs }, caution);
    const remaining = authority.remainingMs();
    const current = this.#core.remainingMs();
    if (remaining <= 0 || remaining < current) return;
    const lapsedBefore = this.#core.authority !== undefined && current <= 0;
    this.#core.authority = authority;
    this.#cancelLapse();
    this.#cancelLapse = timers.after(remaining, () => this.#lapse());
    if (lapsedBefore) this.#report('rejoined');
    this.#core.settleWaiting();
  }

  #lapse(): void {
    // Timers may be early by a millisecond; the clocks decide.
    const remaining = this.#core.remainingMs();
    if (remaining > 0) {
      this.#cancelLapse = this.#core.config.timers.after(remaining, () => this.#lapse());
      return;
    }
    this.#report('lapsed');
    for (const handle of [...this.#core.handles.values()]) handle.withdraw('lapsed');
  }

  #report(kind: 'lapsed' | 'rejoined' | 'troubled', cause?: string): void {
    const { id, relay, handles } = this.#core;
    relay.report({
      kind,
      session: id,
      leases: handles.size,
      ...(cause === undefined ? {} : { cause }),
    });
  }
}
