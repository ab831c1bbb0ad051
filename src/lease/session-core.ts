// What a session and the leases it carries share: the calls to the store, with their time limits
// and reports, the session's authority, and the list of handles. It has no loop of its own.

import { type Instant, toInstant } from '../support/clock.ts';
import { jittered } from '../support/random.ts';
import { type Authority, elapsedMs, momentOf } from './authority.ts';
import { Disowned } from './disowned.ts';
import type { Fence } from './fence.ts';
import type { LeaseHandle } from './held-lease.ts';
import type { LeaseKey, SessionId } from './names.ts';
import { type LeaseOperation, ObserverRelay, type OutcomeClass } from './observer.ts';
import type { LeaseStore, SessionStore } from './port.ts';
import type { SessionConfig } from './session-options.ts';
import { callStore, isUnanswered, type Unanswered } from './store-call.ts';

export interface StoreCall<Answer> {
  readonly call: () => Promise<Answer>;
  readonly key?: LeaseKey;
  readonly fence?: Fence;
  readonly bytes?: number;
}

/** A try is given up, and counts as unknown, after half of what is left; never sooner than this. */
const TRY_MS_MIN = 25;
const RETRY_MS = 50;

export class SessionCore {
  readonly id: SessionId;
  readonly config: SessionConfig;
  readonly handles: Map<LeaseKey, LeaseHandle> = new Map();
  readonly relay: ObserverRelay;
  readonly disowned: Disowned = new Disowned();
  /** The session's authority as last answered; absent before the first answer and after the end. */
  authority: Authority | undefined;
  #waiting: (() => void)[] = [];

  constructor(id: SessionId, config: SessionConfig) {
    this.id = id;
    this.config = config;
    this.relay = new ObserverRelay(config.observer, config.timers);
  }

  get sessions(): SessionStore {
    return this.config.store.sessions;
  }

  get leases(): LeaseStore {
    return this.config.store.leases;
  }

  remainingMs(): number {
    return this.authority?.remainingMs() ?? 0;
  }

  /** The holder's idea of the time, for display only; nothing is compared with it (C-1). */
  storeTime(): Instant {
    return toInstant(this.config.clock.wallMs());
  }

  carry(handle: LeaseHandle): void {
    this.handles.set(handle.key, handle);
  }

  drop(handle: LeaseHandle): void {
    if (this.handles.get(handle.key) === handle) this.handles.delete(handle.key);
  }

  /** Resolves when the session has authority again, or can never have it again. */
  aliveAgain(): Promise<void> {
    if (this.authority === undefined || this.remainingMs() > 0) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  settleWaiting(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  /** One bounded, reported call. */
  async call<Answer extends { readonly kind: string }>(
    operation: LeaseOperation,
    request: StoreCall<Answer>,
  ): Promise<Answer | Unanswered> {
    const { clock, timers, ttlMs } = this.config;
    const sentAt = momentOf(clock);
    const remainingAtSendMs = this.remainingMs();
    const base = remainingAtSendMs > 0 ? remainingAtSendMs : ttlMs;
    const answer = await callStore(request.call, Math.max(TRY_MS_MIN, base / 2), timers);
    this.relay.report({
      kind: 'operation',
      operation,
      outcome: outcomeClass(answer),
      latencyMs: elapsedMs(sentAt, momentOf(clock)),
      remainingAtSendMs,
      remainingAtReplyMs: this.remainingMs(),
      session: this.id,
      ...(request.key === undefined ? {} : { key: request.key }),
      ...(request.fence === undefined ? {} : { fence: request.fence }),
      ...(request.bytes === undefined ? {} : { bytes: request.bytes }),
      ...(isUnanswered(answer) ? { cause: answer.fault.message } : {}),
    });
    return answer;
  }

  /** Repeats a call that is safe to repeat until it is answered or the time is up. */
  async retry<Answer extends { readonly kind: string }>(
    operation: LeaseOperation,
    request: StoreCall<Answer> & { readonly withinMs: number },
  ): Promise<Answer | Unanswered> {
    const { clock, timers, random } = this.config;
    const startedAt = momentOf(clock);
    for (;;) {
      const answer = await this.call(operation, request);
      if (!isUnanswered(answer)) return answer;
      if (elapsedMs(startedAt, momentOf(clock)) >= request.withinMs) return answer;
      await timers.pause(jittered(random, RETRY_MS, 0.5));
    }
  }
}

const OK_KINDS: ReadonlySet<string> = new Set([
  'opened',
  'alive',
  'ended',
  'granted',
  'withdrawn',
  'saved',
  'begun',
  'settled',
  'released',
  'current',
]);

const CLASS_OF_REFUSAL: Readonly<Record<string, OutcomeClass>> = {
  held: 'contended',
  reserved: 'contended',
  damped: 'contended',
  'behind-others': 'contended',
  'reclaim-paused': 'contended',
  superseded: 'fenced',
  'fence-ahead': 'fenced',
  'not-yours': 'fenced',
  lapsed: 'expired',
  expired: 'expired',
  'session-lapsed': 'expired',
  'session-expired': 'expired',
  'session-ended': 'revoked',
  ended: 'revoked',
};

function outcomeClass(answer: { readonly kind: string; readonly why?: string }): OutcomeClass {
  if (answer.kind === 'unknown' || answer.kind === 'unavailable') return answer.kind;
  if (answer.kind === 'queued') return 'contended';
  if (OK_KINDS.has(answer.kind)) return 'ok';
  return CLASS_OF_REFUSAL[answer.why ?? ''] ?? 'refused';
}
