import { changedByEndKey } from '../../../access/decide/audit.ts';
import { decideEndKey } from '../../../access/decide/end-key.ts';
import { auditOf } from '../../../execution/decide/audit.ts';
import type { ProjectName } from '../../../execution/names.ts';
import { laterBy, toInstant } from '../../../support/clock.ts';
import type { EndKey, KeyEnded } from '../../contract/access-store.ts';
import { type Database, type Queries, statement } from '../database.ts';
import { writeAudit } from '../executions/audit.ts';
import { LOCK_KEYS, look } from './keys.ts';

// P-8: an end only comes nearer. P-13: with those that it made, as `isMadeBy` says.
const END = statement(`
  with recursive family (id) as (
    select k.id
      from hf.access_key k
     where k.id = $1
       and ($2::text is null or k.project = $2) -- guard: known
     union
    select made.id
      from family
      join hf.access_key made on made.created_by like '% (' || family.id || ')'
     where $4::boolean
  )
  update hf.access_key k
     set ended_at = clock.now + $3::bigint
    from (select hf_now() as now) clock
   where k.id = any (array(select family.id from family))
     and ($2::text is null or k.project = $2) -- guard: project
     and (k.ended_at is null or k.ended_at > clock.now + $3::bigint) -- guard: nearer
  returning k.id, k.ended_at, clock.now,
            (select root.project from hf.access_key root where root.id = $1) as project`);

export async function endKey(database: Database, request: EndKey): Promise<KeyEnded> {
  const { id, inMs = 0, made: isWithMade = false } = request;
  for (;;) {
    const rows = await database.transaction((queries) => ends(queries, request));
    const more = isWithMade ? { made: othersOf(rows, id) } : {};
    const own = rows.find((row) => row.id === id);
    if (own !== undefined) {
      return { kind: 'ended', endedAt: toInstant(own.ended_at), changed: true, ...more };
    }
    const { stored, now } = await look(database, request);
    const decision = decideEndKey(stored, request, laterBy(now, inMs));
    if (decision.kind === 'refused') return decision;
    if (decision.kind === 'no-change') {
      return { kind: 'ended', endedAt: decision.endedAt, changed: false, ...more };
    }
    // It was added in between.
  }
}

interface EndedRow {
  readonly id: string;
  readonly ended_at: number;
  readonly now: number;
  /** Of the key that was named: who names no project may end one of any. */
  readonly project: ProjectName | null;
}

async function ends(queries: Queries, request: EndKey): Promise<readonly EndedRow[]> {
  const { id, project, inMs = 0, made = false } = request;
  if (made) await queries.rows(LOCK_KEYS, []);
  const rows = await queries.rows<EndedRow>(END, [id, project ?? null, inMs, made]);
  const [row] = rows;
  if (row === undefined) return rows;
  const of = { id, project: row.project ?? undefined };
  const changed = changedByEndKey(of, toInstant(row.ended_at), othersOf(rows, id));
  await writeAudit(queries, [auditOf(request, changed, toInstant(row.now))]);
  return rows;
}

function othersOf(rows: readonly EndedRow[], id: string): readonly string[] {
  return rows
    .map((row) => row.id)
    .filter((each) => each !== id)
    .sort();
}
