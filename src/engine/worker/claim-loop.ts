// Claims what is ready for a worker's pipelines, in batches. It is woken by rings and by the next due time, and
// polls because rings may be lost. Between claims it does what is due for all.

import type { PipelineName } from '../../execution/names.ts';
import { describeExecutionRefusal } from '../../execution/refusal.ts';
import type { ClaimAnswer } from '../../store/contract/execution-store.ts';
import type { Timers } from '../../support/timer.ts';
import type { WorkerConfig } from '../config.ts';
import { tellTrouble } from '../observer.ts';
import type { Announcer } from './announcer.ts';
import { Denial, pauseAfter, TROUBLE_PAUSE_MS, type WorkerEnd } from './denial.ts';
import type { Tending } from './duties.ts';
import { LaneTurns, type Share } from './lane-shares.ts';
import type { OverdueSessions } from './overdue-sessions.ts';
import type { SlotEvents, Slots } from './slots.ts';
import type { WorkerSettings } from './worker-options.ts';
import type { CurrentSession } from './worker-session.ts';

/** A claim takes this many at most: a batch, not a stall. */
const CLAIM_MAX = 500;
const NO_CLAIM = 'Nothing could be claimed';
/** How long a free slot may wait for others to be claimed with it. */
const FILL_MS = 50;

export interface ClaimParts {
  readonly current: CurrentSession;
  readonly slots: Slots;
  readonly announcer: Announcer;
  readonly overdue: OverdueSessions;
  /** Undefined: a coordinator does it. */
  readonly tending: Tending | undefined;
  /** The store does not let this worker in any more. */
  readonly denied: (end: WorkerEnd) => void;
}

type Taken = Extract<ClaimAnswer, { readonly kind: 'claimed' }>;

export class ClaimLoop implements SlotEvents {
  readonly #config: WorkerConfig;
  readonly #settings: WorkerSettings;
  readonly #names: readonly PipelineName[];
  readonly #parts: ClaimParts;
  readonly #stop: AbortController = new AbortController();
  readonly #lanes: LaneTurns = new LaneTurns();
  readonly #pause: Pause;
  readonly #denial: Denial;
  /** The last claim left something that is ready. */
  #isMoreReady = false;
  #isClaiming = false;
  #isNoticed = false;
  #hasCrashed = false;
  #claimedAt = Number.NEGATIVE_INFINITY;
  #cancelFill: (() => void) | undefined;

  constructor(config: WorkerConfig, settings: WorkerSettings, parts: ClaimParts) {
    this.#config = config;
    this.#settings = settings;
    this.#names = [...settings.pipelines.keys()];
    this.#parts = parts;
    this.#pause = new Pause(config.timers);
    this.#denial = new Denial(config, settings.ttlMs);
  }

  /** Resolves when it was stopped and its last claim has been answered. */
  async run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      let pauseMs: number;
      try {
        const roundMs = await this.#round();
        const tendsInMs = this.#parts.tending?.dueInMs ?? Infinity;
        pauseMs = Math.min(roundMs, tendsInMs, this.#parts.announcer.dueInMs);
        this.#denial.over();
      } catch (fault) {
        tellTrouble(this.#config.observer, NO_CLAIM, fault);
        const end = this.#denial.met(fault);
        if (end !== undefined) this.#parts.denied(end);
        pauseMs = pauseAfter(fault);
      }
      if (!signal.aborted && pauseMs > 0) await this.#pause.for(pauseMs);
    }
  }

  ring(): void {
    this.#pause.end();
  }

  stop(): void {
    this.#stop.abort();
    this.#cancelFill?.();
    this.ring();
  }

  /** As if the process had died: what it claims now is found by others. */
  crash(): void {
    this.#hasCrashed = true;
    this.stop();
  }

  /** The store has a notice for this session: a message for one of its executions. */
  lookAtInboxes(): void {
    // What is being claimed may be what the message is for.
    this.#isNoticed = this.#isClaiming;
    this.#parts.slots.lookAtInboxes();
  }

  /** Where something is known to be ready, it is claimed along with the last write of who leaves. */
  leaving(): void {
    if (this.#isMoreReady) this.#freed();
  }

  left(): void {
    const isFull = this.#parts.slots.running >= this.#settings.concurrency;
    if (!this.#isMoreReady || isFull) this.#freed();
  }

  /** One round; answers how long to wait for a ring at most. */
  async #round(): Promise<number> {
    const { current, slots, announcer, tending } = this.#parts;
    await current.renew();
    await tending?.tendWhenDue();
    await this.#turnOver();
    const free = Math.min(slots.free, this.#config.store.executions.room());
    const { id: session } = current.session;
    await announcer.begin(session, free);
    if (free <= 0) await announcer.prove(session, 0);
    if (free <= 0 && tending === undefined) return this.#settings.pollMs;
    const now = this.#config.clock.monotonicMs();
    const waitMs = this.#claimedAt + this.#pauseFor(free) - now;
    if (waitMs > 0) return waitMs;
    this.#claimedAt = now;
    this.#pause.begin();
    return this.#claim(free);
  }

  async #claim(free: number): Promise<number> {
    const { current, slots, announcer } = this.#parts;
    const { id: session } = current.session;
    const shares = this.#lanes.next(Math.min(free, CLAIM_MAX));
    const dice = this.#config.random.next();
    const request = { session, pipelines: this.#names, shares, dice, ...announcer.asks };
    this.#isClaiming = true;
    const answer = await this.#config.store.executions.claim(request).finally(() => {
      this.#isClaiming = false;
    });
    if (answer.kind === 'refused') {
      tellTrouble(this.#config.observer, NO_CLAIM, new Error(describeExecutionRefusal(answer)));
      if (answer.why === 'session-not-live') await current.session.heartbeat();
      return TROUBLE_PAUSE_MS;
    }
    if (this.#hasCrashed) return this.#settings.pollMs;
    await announcer.prove(session, free - answer.claims.length);
    for (const claimed of answer.claims) slots.drive(claimed, current.session);
    if (this.#isNoticed) this.lookAtInboxes();
    if (shares.length > 0) {
      this.#lanes.heard(shares, answer.claims);
      this.#isMoreReady = answer.more;
    }
    return this.#nextIn(shares, answer);
  }

  /** How long until it asks again. */
  async #nextIn(shares: readonly Share[], answer: Taken): Promise<number> {
    const { overdue } = this.#parts;
    if (await overdue.heard(answer.overdue)) return 0;
    if (answer.more && answer.claims.length > 0) return 0;
    // It was the other lane's turn, and that lane had nothing: the first lane was not asked at all.
    if (answer.claims.length === 0 && shares[0]?.limit === 0) return 0;
    // Polls are spread, never longer than asked for: they find what the dead left (P4). What is due at a
    // known time is looked for at that time.
    const spreadMs = this.#settings.pollMs * (1 - this.#config.random.next() / 10);
    const sweepInMs = answer.overdue ? overdue.dueInMs : spreadMs;
    return Math.max(1, Math.min(spreadMs, sweepInMs, answer.nextReadyInMs ?? spreadMs));
  }

  /** Batches stay batches under load: it asks when it can have a whole one, or has waited long enough. */
  #pauseFor(free: number): number {
    if (free > 0) return free < this.#batch ? FILL_MS : 0;
    // P4: asked for nothing, the store says who is overdue; the next slot that is free is for what he left.
    return this.#settings.pollMs;
  }

  get #batch(): number {
    return Math.min(CLAIM_MAX, this.#settings.concurrency / 2);
  }

  /** What was answered in this turn has asked for more by then. */
  #turnOver(): Promise<void> {
    return new Promise((resolve) => this.#config.timers.soon(resolve));
  }

  #freed(): void {
    if (this.#parts.slots.free >= this.#batch) this.ring();
    else this.#cancelFill ??= this.#config.timers.after(FILL_MS, () => this.#fill());
  }

  /** A slot has been free for a while and it is still not half empty. */
  #fill(): void {
    this.#cancelFill = undefined;
    this.ring();
  }
}

/** A pause that a ring ends; a ring before it counts, until the next claim begins. */
class Pause {
  readonly #timers: Timers;
  #isOver = false;
  #wake: (() => void) | undefined;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** What rings from here on is news. */
  begin(): void {
    this.#isOver = false;
  }

  end(): void {
    this.#isOver = true;
    this.#wake?.();
  }

  async for(ms: number): Promise<void> {
    if (!this.#isOver) {
      await new Promise<void>((resolve) => {
        const cancel = this.#timers.after(ms, resolve);
        this.#wake = () => {
          cancel();
          resolve();
        };
      });
      this.#wake = undefined;
    }
    this.#isOver = false;
  }
}
