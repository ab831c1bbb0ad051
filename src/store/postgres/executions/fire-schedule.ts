import type { ExecutionId } from '../../../execution/names.ts';
import type { FireSchedule, ScheduleFired } from '../../../features/schedules/port.ts';
import { assert } from '../../../support/assert.ts';
import { persistently } from '../committer.ts';
import { type Attempted, type Queries, statement } from '../database.ts';
import { texts } from './arrays.ts';
import { insertWithPlaces } from './insert-executions.ts';
import type { Parts } from './parts.ts';

// whoever finds it where it was expected moves it on; the row is locked until all is committed.
const MOVE = statement(`
  update hf.schedule s
     set next_at = $3
   where s.project = $1
     and s.id = $2
     and s.next_at = $4 -- guard: expected
     and s.digest = $5 -- guard: plan
  returning s.last_key`);

// What has the key: the execution of the last fire, or what it was continued as.
const OPEN = statement(`
  select e.id
    from hf.execution e
   where e.project = $1
     and e.key = $2
     and coalesce(e.status < 10, false)`);

const KEYED = statement(`
  select e.id
    from unnest($2::text[]) with ordinality as u(key, nth)
    join hf.execution e on e.project = $1 and e.key = u.key
   order by u.nth`);

const NOTE = statement(`
  update hf.schedule s
     set fired_at       = $3,
         last_execution = $4,
         last_key       = $5
   where s.project = $1
     and s.id = $2`);

/** One transaction: moved on and submitted, or neither. Repeated, it finds that it was moved. */
export async function fireSchedule(parts: Parts, request: FireSchedule): Promise<ScheduleFired> {
  const answer = await persistently(parts.surroundings, () =>
    parts.database.attempt((queries) => fire(queries, request), parts.boundaries),
  );
  if (answer.kind === 'fired' && answer.ids.length > 0) parts.bell.ring();
  return answer;
}

async function fire(queries: Queries, request: FireSchedule): Promise<Attempted<ScheduleFired>> {
  const { project, id, expected, digest, submits, firedAt } = request;
  const values = [project, id, request.nextAt ?? null, expected, digest];
  const [moved] = await queries.rows<{ last_key: string | null }>(MOVE, values);
  if (moved === undefined) return { keep: false, result: { kind: 'moved' } };
  if (request.skipsWhileOpen && moved.last_key !== null) {
    const [open] = await queries.rows<{ id: ExecutionId }>(OPEN, [project, moved.last_key]);
    if (open !== undefined) return { keep: true, result: { kind: 'skipped', open: open.id } };
  }
  if (submits.length === 0) return { keep: true, result: { kind: 'fired', ids: [] } };
  await insertWithPlaces(queries, submits, false);
  const keys = submits.map(({ key }) => key ?? '');
  const rows = await queries.rows<{ id: ExecutionId }>(KEYED, [project, texts(keys)]);
  const ids = rows.map((row) => row.id);
  assert(ids.length === submits.length, 'X-34: what a fire submits has a key of its own');
  await queries.rows(NOTE, [project, id, firedAt, ids.at(-1), keys.at(-1)]);
  return { keep: true, result: { kind: 'fired', ids } };
}
