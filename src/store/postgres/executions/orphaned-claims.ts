// Claims whose outcome is unknown. The connection broke, but the statement may have been
// applied, or may still be by a slow server or proxy. A live session then carries executions that
// it does not know of, and no other session can claim them. The session's next claim returns them,
// for as long as it lives.

import type { SessionId } from '../../../lease/names.ts';
import type { Clock } from '../../../support/clock.ts';
import type { Claimed } from '../../contract/execution-store.ts';
import { type CarriedRow, EXECUTION_COLUMNS, toCarried } from '../../sql/executions.ts';
import { type Queries, statement } from '../database.ts';
import { equalsByIndex } from '../predicates.ts';
import { uuids } from './arrays.ts';

/**
 * For this long after a lost claim, every claim looks for orphaned ones. By default this is longer
 * than a statement may run.
 */
const SUSPECT_MS = 60_000;

/** After that, orphaned claims are very unlikely, so claims look for them only this often. */
const POLL_MS = 20_000;

interface Watch {
  /** Fences up to this one were returned before. */
  readonly floor: number;
  /** Fences returned since then that the session still carries. */
  readonly known: Set<number>;
  /** The number of claims under way. */
  sent: number;
  /** Set when a claim was lost. Until this time, every claim looks for orphaned ones. */
  suspectUntilMs?: number;
  polledAtMs: number;
}

const CARRIED = statement(`
  select e.id, e.fence
    from hf.execution e
   where e.status = 1
     and e.session_id = $1
     and e.fence > $2`);

const LOAD = statement(`
  select ${EXECUTION_COLUMNS.postgres}, h.body as claim_body
    from unnest($2::uuid[]) as u(id)
    join hf.execution e on ${equalsByIndex('e.id', 'u.id')}
    join hf.history h on ${equalsByIndex('h.execution_id', 'e.id')} and h.seq = e.claimed_seq
   where coalesce(e.status = 1, false)
     and e.session_id = $1
   order by e.fence`);

// Once a session has ended, other sessions may claim its executions.
const LIVING = statement(`
  select s.id
    from hf.session s
   where s.id = any ($1::uuid[])
     and s.ended_at is null`);

export class OrphanedClaims {
  readonly #clock: Clock;
  readonly #watches: Map<SessionId, Watch> = new Map();
  #highest = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The number of remembered sessions and claims. */
  get size(): { readonly sessions: number; readonly known: number } {
    const watches = [...this.#watches.values()];
    return {
      sessions: watches.length,
      known: watches.reduce((sum, { known }) => sum + known.size, 0),
    };
  }

  /** A claim of this session starts. Its fences are greater than all that were returned before. */
  sent(session: SessionId): void {
    const watch = this.#watches.get(session);
    if (watch !== undefined) watch.sent += 1;
    else {
      const floor = this.#highest;
      this.#watches.set(session, { floor, known: new Set(), sent: 1, polledAtMs: 0 });
    }
  }

  /** The claim got a reply, or was certainly not applied. */
  settled(session: SessionId): void {
    const watch = this.#watches.get(session);
    if (watch === undefined) return;
    watch.sent -= 1;
    if (watch.sent === 0 && watch.suspectUntilMs === undefined) this.#watches.delete(session);
  }

  /** The claim got no reply and may have been applied. */
  suspect(session: SessionId): void {
    const watch = this.#watches.get(session);
    if (watch === undefined) return;
    watch.sent -= 1;
    watch.suspectUntilMs = this.#clock.monotonicMs() + SUSPECT_MS;
  }

  /** Notes the returned claims, and omits those that were already returned as orphaned. */
  deliver(session: SessionId, claims: readonly Claimed[]): readonly Claimed[] {
    for (const { fence } of claims) this.#highest = Math.max(this.#highest, fence);
    const known = this.#watches.get(session)?.known;
    if (known === undefined) return claims;
    const newClaims = claims.filter(({ fence }) => !known.has(fence));
    for (const { fence } of newClaims) known.add(fence);
    return newClaims;
  }

  /** Returns the executions that this session carries and was never given. */
  async find(queries: Queries, session: SessionId): Promise<readonly Claimed[]> {
    const watch = this.#watches.get(session);
    if (watch?.suspectUntilMs === undefined) return [];
    const now = this.#clock.monotonicMs();
    if (now > watch.suspectUntilMs && now < watch.polledAtMs + POLL_MS) return [];
    const before = [...watch.known];
    const rows = await queries.rows<{ id: string; fence: number }>(CARRIED, [session, watch.floor]);
    // Only a successful read counts: an unavailable server proves nothing.
    watch.polledAtMs = now;
    const carried = new Set(rows.map(({ fence }) => fence));
    for (const fence of before) if (!carried.has(fence)) watch.known.delete(fence);
    if (this.#watches.size > 1) await this.#forgetEnded(queries);
    const orphans = rows.filter(({ fence }) => !watch.known.has(fence)).map(({ id }) => id);
    if (orphans.length === 0) return [];
    const values = [session, uuids(orphans)];
    const loaded = await queries.rows<CarriedRow>(LOAD, values);
    return this.deliver(session, loaded.map(toCarried));
  }

  async #forgetEnded(queries: Queries): Promise<void> {
    const ids = [...this.#watches.keys()];
    const rows = await queries.rows<{ id: SessionId }>(LIVING, [uuids(ids)]);
    const living = new Set(rows.map(({ id }) => id));
    for (const id of ids) {
      if (!living.has(id) && this.#watches.get(id)?.sent === 0) this.#watches.delete(id);
    }
  }
}
