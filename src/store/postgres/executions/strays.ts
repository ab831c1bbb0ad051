// Claims that nobody knows of: the connection broke, and the statement may have been done all the same. Its
// rows are carried by a session that lives, so no other would ever claim them. Whoever claims next with
// that session is given them, for as long as such a statement may still be under way.

import { type Fence, toFence } from '../../../lease/fence.ts';
import type { SessionId } from '../../../lease/names.ts';
import type { Clock, Instant } from '../../../support/clock.ts';
import type { Claimed } from '../../contract/execution-store.ts';
import { type ExecutionRow, toExecution } from '../../execution-rows.ts';
import { type Queries, statement } from '../database.ts';
import { EXECUTION_COLUMNS } from './rows.ts';

/** Longer than the server lets a statement run. */
const SUSPECT_MS = 60_000;

interface Suspicion {
  /** Fences up to here were answered before. */
  readonly floor: number;
  /** What was answered since. */
  readonly known: Set<number>;
  readonly untilMs: number;
}

const CARRIED = statement(`
  select ${EXECUTION_COLUMNS}, h.body as said
    from hf.execution e
    join hf.history h on h.execution_id = e.id and h.seq = e.claimed_seq
   where e.status = 1
     and e.session_id = $1
     and e.fence > $2
   order by e.fence`);

export class Strays {
  readonly #clock: Clock;
  readonly #suspicions: Map<SessionId, Suspicion> = new Map();
  #highest = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The highest fence that was answered: what a claim that is sent now gets is above it. */
  get highest(): number {
    return this.#highest;
  }

  /** A claim of this session that was sent when `floor` was the highest may have been done. */
  suspect(session: SessionId, floor: number): void {
    const before = this.#suspicions.get(session);
    this.#suspicions.set(session, {
      floor: Math.min(floor, before?.floor ?? floor),
      known: before?.known ?? new Set(),
      untilMs: this.#clock.monotonicMs() + SUSPECT_MS,
    });
  }

  /** Notes what is answered; leaves out what was answered before, as a stray. */
  answering(session: SessionId, claims: readonly Claimed[]): readonly Claimed[] {
    for (const { fence } of claims) this.#highest = Math.max(this.#highest, fence);
    if (this.#suspicions.size === 0) return claims;
    const known = this.#suspicions.get(session)?.known;
    if (known === undefined) return claims;
    const fresh = claims.filter(({ fence }) => !known.has(fence));
    for (const { fence } of fresh) known.add(fence);
    return fresh;
  }

  /** What this session carries and was never told. */
  async find(queries: Queries, session: SessionId): Promise<readonly Claimed[]> {
    const suspicion = this.#suspicions.get(session);
    if (suspicion === undefined) return [];
    if (suspicion.untilMs < this.#clock.monotonicMs()) {
      this.#suspicions.delete(session);
      return [];
    }
    const rows = await queries.rows<ExecutionRow & { said: string }>(CARRIED, [
      session,
      suspicion.floor,
    ]);
    return this.answering(session, rows.map(toClaimed));
  }
}

function toClaimed(row: ExecutionRow & { readonly said: string }): Claimed {
  const { previous } = JSON.parse(row.said) as Pick<Claimed, 'previous'>;
  const fence: Fence = toFence(row.fence ?? 0);
  return { execution: toExecution(row), fence, previous, claimedAt: row.claimed_at as Instant };
}
