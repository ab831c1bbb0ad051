// Recovers claims whose reply never reached this worker: the coordinator or the connection died
// between the commit and the read. A live session carries them, so no other worker would ever get
// them. After such a loss the worker asks for all claims of its session, and takes the
// unknown ones. If the transport may deliver messages twice (M-1), the second of two claims may
// have taken executions unseen. The worker then asks regularly.

import type { Fence } from '../lease/fence.ts';
import type { SessionId } from '../lease/names.ts';
import type { Claim, Claimed, ClaimResult } from '../store/contract/execution-store.ts';
import type { Clock } from '../support/clock.ts';
import { OutcomeUnknown } from '../support/fault.ts';

/** A slow coordinator may perform a lost request this much later. */
const SUSPECT_MS = 60_000;

/** The longest time that a doubled claim may go unnoticed: as long as a lost wakeup. */
const POLL_MS = 1_000;

interface ClaimVerbs {
  claim(request: Claim): Promise<ClaimResult>;
  carried(session: SessionId): Promise<readonly Claimed[]>;
}

export class DeliveredClaims {
  readonly #verbs: ClaimVerbs;
  readonly #clock: Clock;
  /** Delivered claims that this worker has not left. */
  readonly #held: Set<Fence> = new Set();
  /** Claims left since the last request began. Its reply may still list them. */
  readonly #removed: Set<Fence> = new Set();
  /** All state concerns this session; claims of an earlier one are over. */
  #session: SessionId | undefined;
  #suspectUntilMs: number | undefined;
  readonly #pollMs: number;
  #polledAt = 0;

  constructor(verbs: ClaimVerbs, clock: Clock, { doubles = false } = {}) {
    this.#verbs = verbs;
    this.#clock = clock;
    this.#pollMs = doubles ? POLL_MS : Infinity;
  }

  async claim(request: Claim): Promise<ClaimResult> {
    const { session } = request;
    if (session !== this.#session) this.#begin(session);
    const orphans = await this.#orphans(session);
    if (orphans.length > 0) return { kind: 'claimed', claims: orphans, more: true, overdue: false };
    try {
      const result = await this.#undelivered(this.#verbs.claim(request), (reply) =>
        reply.kind === 'claimed' ? reply.claims : [],
      );
      if (result.reply.kind === 'refused') return result.reply;
      return { ...result.reply, claims: result.claims };
    } catch (fault) {
      if (fault instanceof OutcomeUnknown) {
        this.#suspectUntilMs = this.#clock.monotonicMs() + SUSPECT_MS;
      }
      throw fault;
    }
  }

  /** The worker finished, parked or gave back the execution, or another worker has it. */
  remove(fence: Fence): void {
    this.#held.delete(fence);
    this.#removed.add(fence);
  }

  async #orphans(session: SessionId): Promise<readonly Claimed[]> {
    const now = this.#clock.monotonicMs();
    if (now > (this.#suspectUntilMs ?? now)) this.#suspectUntilMs = undefined;
    if (this.#suspectUntilMs === undefined && now - this.#polledAt < this.#pollMs) return [];
    this.#polledAt = now;
    return (await this.#undelivered(this.#verbs.carried(session), (carried) => carried)).claims;
  }

  /**
   * Holds and returns the claims of a reply that this worker does not have yet. A coordinator
   * returns a claim again if its own store was unsure of it, even if the worker has found it by then.
   */
  async #undelivered<Reply>(
    asked: Promise<Reply>,
    claimsIn: (reply: Reply) => readonly Claimed[],
  ): Promise<{ readonly reply: Reply; readonly claims: readonly Claimed[] }> {
    this.#removed.clear();
    const reply = await asked;
    // Nothing may come between these checks: a claim that is left just now must be in one of them.
    const claims = claimsIn(reply).filter(
      ({ fence }) => !this.#held.has(fence) && !this.#removed.has(fence),
    );
    for (const { fence } of claims) this.#held.add(fence);
    return { reply, claims };
  }

  #begin(session: SessionId): void {
    this.#session = session;
    this.#held.clear();
    this.#suspectUntilMs = undefined;
    this.#polledAt = this.#clock.monotonicMs();
  }
}
