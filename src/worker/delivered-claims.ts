// Claims that a coordinator took and could not tell of: it was killed, or the connection was, between its
// commit and our reading of it. They are carried by a session that lives, so nobody else would ever have them
// . After such a loss the session asks for all that it carries, and takes what it does not know. Where
// messages may be delivered twice (M-1), the second of two claims took what nobody was told of: then it asks
// every now and again.

import type { Fence } from '../lease/fence.ts';
import type { SessionId } from '../lease/names.ts';
import type { Claim, ClaimAnswer, Claimed } from '../store/contract/execution-store.ts';
import type { Clock } from '../support/clock.ts';
import { OutcomeUnknown } from '../support/fault.ts';

/** A request that was lost may be done this much later, by a coordinator that is slow. */
const SUSPECT_MS = 60_000;

/** So long may what a doubled claim took lie unseen: as long as a lost ring. */
const LOOK_MS = 1_000;

interface ClaimVerbs {
  claim(request: Claim): Promise<ClaimAnswer>;
  carried(session: SessionId): Promise<readonly Claimed[]>;
}

export class DeliveredClaims {
  readonly #verbs: ClaimVerbs;
  readonly #clock: Clock;
  /** Claims that were delivered and not let go of. */
  readonly #held: Set<Fence> = new Set();
  /** Let go of while an answer was on its way that may still have it. */
  #leaving: Set<Fence> | undefined;
  /** Everything here is about this one: what another carried is over with it. */
  #session: SessionId | undefined;
  #suspectUntilMs: number | undefined;
  readonly #lookMs: number;
  #lookedAt = 0;

  constructor(verbs: ClaimVerbs, clock: Clock, { doubles = false } = {}) {
    this.#verbs = verbs;
    this.#clock = clock;
    this.#lookMs = doubles ? LOOK_MS : Infinity;
  }

  async claim(request: Claim): Promise<ClaimAnswer> {
    const { session } = request;
    if (session !== this.#session) this.#begin(session);
    const strays = await this.#strays(session);
    if (strays.length > 0) return { kind: 'claimed', claims: strays, more: true, overdue: false };
    try {
      const answer = await this.#verbs.claim(request);
      if (answer.kind === 'claimed') this.#hold(answer.claims);
      return answer;
    } catch (fault) {
      if (fault instanceof OutcomeUnknown) {
        this.#suspectUntilMs = this.#clock.monotonicMs() + SUSPECT_MS;
      }
      throw fault;
    }
  }

  /** It was finished, parked or given back, or is known to be another's. */
  letGo(fence: Fence): void {
    this.#held.delete(fence);
    this.#leaving?.add(fence);
  }

  async #strays(session: SessionId): Promise<readonly Claimed[]> {
    const now = this.#clock.monotonicMs();
    if (now > (this.#suspectUntilMs ?? now)) this.#suspectUntilMs = undefined;
    if (this.#suspectUntilMs === undefined && now - this.#lookedAt < this.#lookMs) return [];
    this.#lookedAt = now;
    const leaving = new Set<Fence>();
    this.#leaving = leaving;
    const carried = await this.#verbs.carried(session).finally(() => {
      this.#leaving = undefined;
    });
    const strays = carried.filter(({ fence }) => !this.#held.has(fence) && !leaving.has(fence));
    this.#hold(strays);
    return strays;
  }

  #begin(session: SessionId): void {
    this.#session = session;
    this.#held.clear();
    this.#suspectUntilMs = undefined;
    this.#lookedAt = this.#clock.monotonicMs();
  }

  #hold(claims: readonly Claimed[]): void {
    for (const { fence } of claims) this.#held.add(fence);
  }
}
