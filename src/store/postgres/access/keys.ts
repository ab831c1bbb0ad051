import type { AccessKey } from '../../../access/access-key.ts';
import { type AddKeyView, decideAddKey } from '../../../access/decide/add-key.ts';
import { decideEndKey } from '../../../access/decide/end-key.ts';
import { assert } from '../../../support/assert.ts';
import { type Instant, laterBy, toInstant } from '../../../support/clock.ts';
import { type AccessKeyRow, fromAddKey, startOf, toAccessKey } from '../../access-rows.ts';
import type { AddKey, EndKey, KeyAdded, KeyEnded, ListKeys } from '../../contract/access-store.ts';
import { type Database, type Queries, type Statement, statement } from '../database.ts';

const COLUMNS =
  'k.id, k.project, k.roles, k.name, k.digest, k.created_at, k.created_by, k.expires_at, k.ended_at';

// P-6: waits for every insert that is not committed yet, and lets none begin, so that the statement after it
// sees all there are.
const LOCK = statement('lock table hf.access_key in share row exclusive mode');

const ADD = statement(`
  insert into hf.access_key as k
         (id, project, roles, name, digest, created_at, created_by, expires_at)
  select $1, $2::text, $3, $4, $5, clock.now, $6, clock.now + $7::bigint
    from (select hf_now() as now) clock
   where ($2::text is null or exists (select 1 from hf.project p where p.name = $2)) -- guard: project
     and (not $8::boolean or not exists (select 1 from hf.access_key)) -- guard: first
      on conflict (id) do nothing
  returning k.id`);

// What refusals are explained from: all of it at one moment.
const VIEW = statement(`
  select hf_now() as now,
         exists (select 1 from hf.project p where p.name = $2) as knows_project,
         exists (select 1 from hf.access_key) as has_keys,
         ${COLUMNS}
    from (select 1) one
    left join hf.access_key k on k.id = $1`);

const READ = statement(`
  select ${COLUMNS}
    from hf.access_key k
   where k.id = $1`);

const LIST = listOf('($5::text is null)');
const LIST_PROJECT = listOf('k.project = $5');

function listOf(scope: string): Statement {
  return statement(`
  select ${COLUMNS}
    from hf.access_key k, (select hf_now() as now) clock
   where ${scope}
     and (k.created_at, k.id) < ($1::bigint, $2::text)
     and ($3::boolean or k.ended_at is null or k.ended_at > clock.now)
     and ($3::boolean or k.expires_at is null or k.expires_at > clock.now)
   order by k.created_at desc, k.id desc
   limit $4`);
}

// P-8: an end only comes nearer.
const END = statement(`
  update hf.access_key k
     set ended_at = clock.now + $3::bigint
    from (select hf_now() as now) clock
   where k.id = $1
     and ($2::text is null or k.project = $2) -- guard: project
     and (k.ended_at is null or k.ended_at > clock.now + $3::bigint) -- guard: nearer
  returning k.ended_at`);

export async function addKey(database: Database, request: AddKey): Promise<KeyAdded> {
  const row = fromAddKey(request);
  const values = [row.id, row.project, row.roles, row.name, row.digest, row.createdBy];
  for (;;) {
    if (await adds(database, [...values, row.expiresInMs], request.first === true)) {
      return { kind: 'added', existing: false };
    }
    const decision = decideAddKey(await look(database, request), request);
    if (decision.kind === 'refused') return decision;
    if (decision.kind === 'existing') return { kind: 'added', existing: true };
    // Its project was put in between.
  }
}

async function adds(
  database: Database,
  values: readonly unknown[],
  first: boolean,
): Promise<boolean> {
  const add = async (queries: Queries): Promise<boolean> =>
    (await queries.rows(ADD, [...values, first])).length > 0;
  if (!first) return add(database);
  return database.transaction(async (queries) => {
    await queries.rows(LOCK, []);
    return add(queries);
  });
}

export async function key(database: Database, id: string): Promise<AccessKey | undefined> {
  const [row] = await database.rows<AccessKeyRow & object>(READ, [id]);
  return row === undefined ? undefined : toAccessKey(row);
}

export async function keys(database: Database, query: ListKeys): Promise<readonly AccessKey[]> {
  const { project, limit } = query;
  const { at, id } = startOf(query);
  const list = project === undefined ? LIST : LIST_PROJECT;
  const values = [at, id, query.all === true, limit, project ?? null];
  return (await database.rows<AccessKeyRow & object>(list, values)).map(toAccessKey);
}

export async function endKey(database: Database, request: EndKey): Promise<KeyEnded> {
  const { id, project, inMs = 0 } = request;
  for (;;) {
    const [row] = await database.rows<{ ended_at: number }>(END, [id, project ?? null, inMs]);
    if (row !== undefined) {
      return { kind: 'ended', endedAt: toInstant(row.ended_at), changed: true };
    }
    const { stored, now } = await look(database, request);
    const decision = decideEndKey(stored, request, laterBy(now, inMs));
    if (decision.kind === 'refused') return decision;
    if (decision.kind === 'no-change') {
      return { kind: 'ended', endedAt: decision.endedAt, changed: false };
    }
    // It was added in between.
  }
}

interface ViewRow {
  readonly now: number;
  readonly knows_project: boolean;
  readonly has_keys: boolean;
}

async function look(
  database: Database,
  { id, project }: Pick<EndKey, 'id' | 'project'>,
): Promise<AddKeyView & { readonly now: Instant }> {
  type Row = ViewRow & (AccessKeyRow | { readonly id: null });
  const [row] = await database.rows<Row>(VIEW, [id, project ?? null]);
  assert(row !== undefined, 'P-4: there is always something to see');
  return {
    now: toInstant(row.now),
    stored: row.id === null ? undefined : toAccessKey(row),
    knowsProject: row.knows_project,
    hasKeys: row.has_keys,
  };
}
