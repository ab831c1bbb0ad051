// Claims that nobody knows of: the connection broke, and the statement may have been done all the same,
// or may yet be, by a server or a proxy that is slow. Its rows are carried by a session that lives, so no
// other would ever claim them. Whoever claims next with that session is given them, for as long as it lives.

import type { SessionId } from '../../../lease/names.ts';
import type { Clock } from '../../../support/clock.ts';
import type { Claimed } from '../../contract/execution-store.ts';
import { type CarriedRow, EXECUTION_COLUMNS, toCarried } from '../../sql/executions.ts';
import { type Queries, statement } from '../database.ts';
import { lookedUp } from '../predicates.ts';
import { uuids } from './arrays.ts';

/** By default longer than the server lets a statement run: so long every claim looks. */
const SUSPECT_MS = 60_000;

/** After that it would be a wonder, and is looked for this seldom. */
const LOOK_MS = 20_000;

interface Watch {
  /** Fences up to here were answered before. */
  readonly floor: number;
  /** What was answered since, as far as it is carried still. */
  readonly known: Set<number>;
  /** Claims that are under way. */
  sent: number;
  /** A claim was lost; until then every claim looks. */
  suspectUntilMs?: number;
  lookedAtMs: number;
}

const CARRIED = statement(`
  select e.id, e.fence
    from hf.execution e
   where e.status = 1
     and e.session_id = $1
     and e.fence > $2`);

const LOAD = statement(`
  select ${EXECUTION_COLUMNS.postgres}, h.body as said
    from unnest($2::uuid[]) as u(id)
    join hf.execution e on ${lookedUp('e.id', 'u.id')}
    join hf.history h on ${lookedUp('h.execution_id', 'e.id')} and h.seq = e.claimed_seq
   where coalesce(e.status = 1, false)
     and e.session_id = $1
   order by e.fence`);

// What others claim when it has ended is theirs.
const LIVING = statement(`
  select s.id
    from hf.session s
   where s.id = any ($1::uuid[])
     and s.ended_at is null`);

export class Strays {
  readonly #clock: Clock;
  readonly #watches: Map<SessionId, Watch> = new Map();
  #highest = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How much is remembered: of sessions that live, and of what they carry. */
  get size(): { readonly sessions: number; readonly known: number } {
    const watches = [...this.#watches.values()];
    return {
      sessions: watches.length,
      known: watches.reduce((sum, { known }) => sum + known.size, 0),
    };
  }

  /** A claim of this session is on its way: what it gets is above all that was answered before. */
  sent(session: SessionId): void {
    const watch = this.#watches.get(session);
    if (watch !== undefined) watch.sent += 1;
    else {
      const floor = this.#highest;
      this.#watches.set(session, { floor, known: new Set(), sent: 1, lookedAtMs: 0 });
    }
  }

  /** It was, or was known not to be done. */
  answered(session: SessionId): void {
    const watch = this.#watches.get(session);
    if (watch === undefined) return;
    watch.sent -= 1;
    if (watch.sent === 0 && watch.suspectUntilMs === undefined) this.#watches.delete(session);
  }

  /** It was not, and may have been done. */
  suspect(session: SessionId): void {
    const watch = this.#watches.get(session);
    if (watch === undefined) return;
    watch.sent -= 1;
    watch.suspectUntilMs = this.#clock.monotonicMs() + SUSPECT_MS;
  }

  /** Notes what is answered; leaves out what was answered before, as a stray. */
  answering(session: SessionId, claims: readonly Claimed[]): readonly Claimed[] {
    for (const { fence } of claims) this.#highest = Math.max(this.#highest, fence);
    const known = this.#watches.get(session)?.known;
    if (known === undefined) return claims;
    const fresh = claims.filter(({ fence }) => !known.has(fence));
    for (const { fence } of fresh) known.add(fence);
    return fresh;
  }

  /** What this session carries and was never told. */
  async find(queries: Queries, session: SessionId): Promise<readonly Claimed[]> {
    const watch = this.#watches.get(session);
    if (watch?.suspectUntilMs === undefined) return [];
    const now = this.#clock.monotonicMs();
    if (now > watch.suspectUntilMs && now < watch.lookedAtMs + LOOK_MS) return [];
    const before = [...watch.known];
    const rows = await queries.rows<{ id: string; fence: number }>(CARRIED, [session, watch.floor]);
    // Only what was asked for and done counts: a server that was away has said nothing.
    watch.lookedAtMs = now;
    const carried = new Set(rows.map(({ fence }) => fence));
    for (const fence of before) if (!carried.has(fence)) watch.known.delete(fence);
    if (this.#watches.size > 1) await this.#forgetEnded(queries);
    const strays = rows.filter(({ fence }) => !watch.known.has(fence)).map(({ id }) => id);
    if (strays.length === 0) return [];
    const values = [session, uuids(strays)];
    const loaded = await queries.rows<CarriedRow>(LOAD, values);
    return this.answering(session, loaded.map(toCarried));
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
