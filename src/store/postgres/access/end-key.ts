import { changedByEndKey } from '../../../access/decide/audit.ts';
import { decideEndKey } from '../../../access/decide/end-key.ts';
import { auditOf } from '../../../execution/decide/audit.ts';
import type { ProjectName } from '../../../execution/names.ts';
import { type Instant, laterBy, toInstant } from '../../../support/clock.ts';
import type { EndKey, KeyEnded } from '../../contract/access-store.ts';
import { type Database, type Queries, statement } from '../database.ts';
import { writeAudit } from '../executions/audit.ts';
import { look } from './keys.ts';

// P-8: an end only comes nearer.
const END = statement(`
  update hf.access_key k
     set ended_at = clock.now + $3::bigint
    from (select hf_now() as now) clock
   where k.id = $1
     and ($2::text is null or k.project = $2) -- guard: project
     and (k.ended_at is null or k.ended_at > clock.now + $3::bigint) -- guard: nearer
  returning k.ended_at, k.project, clock.now`);

export async function endKey(database: Database, request: EndKey): Promise<KeyEnded> {
  const { inMs = 0 } = request;
  for (;;) {
    const endedAt =
      request.audit === undefined
        ? await ends(database, request)
        : await database.transaction((queries) => ends(queries, request));
    if (endedAt !== undefined) return { kind: 'ended', endedAt, changed: true };
    const { stored, now } = await look(database, request);
    const decision = decideEndKey(stored, request, laterBy(now, inMs));
    if (decision.kind === 'refused') return decision;
    if (decision.kind === 'no-change') {
      return { kind: 'ended', endedAt: decision.endedAt, changed: false };
    }
    // It was added in between.
  }
}

async function ends(queries: Queries, request: EndKey): Promise<Instant | undefined> {
  const { id, project, inMs = 0 } = request;
  const [row] = await queries.rows<{
    readonly ended_at: number;
    readonly project: ProjectName | null;
    readonly now: number;
  }>(END, [id, project ?? null, inMs]);
  if (row === undefined) return undefined;
  const endedAt = toInstant(row.ended_at);
  const changed = changedByEndKey({ id, project: row.project ?? undefined }, endedAt);
  await writeAudit(queries, [auditOf(request, changed, toInstant(row.now))]);
  return endedAt;
}
