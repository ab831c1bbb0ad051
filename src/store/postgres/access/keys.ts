import { type AccessKey, isUsable } from '../../../access/access-key.ts';
import { type AddKeyView, decideAddKey } from '../../../access/decide/add-key.ts';
import { changedByAddKey } from '../../../access/decide/audit.ts';
import { auditOf } from '../../../execution/decide/audit.ts';
import { assert } from '../../../support/assert.ts';
import { type Instant, toInstant } from '../../../support/clock.ts';
import { type AccessKeyRow, fromAddKey, startOf, timesOf, toAccessKey } from '../../access-rows.ts';
import type { AddKey, KeyAdded, ListKeys } from '../../contract/access-store.ts';
import { type Database, type Statement, statement } from '../database.ts';
import { writeAudit } from '../executions/audit.ts';
import { limitOf } from './usage.ts';

const COLUMNS =
  'k.id, k.project, k.roles, k.name, k.digest, k.created_at, k.created_by, k.expires_at, k.ended_at';

// P-6, P-13, P-14: waits for every change that is not committed yet, and lets none begin, so that the statement after it
// sees all there are. Reads go on.
export const LOCK_KEYS = statement('lock table hf.access_key in share row exclusive mode');

const IS_USABLE =
  'coalesce(u.ended_at > hf_now(), true) and coalesce(u.expires_at > hf_now(), true)';
const USED = `(select count(*) from hf.access_key u where u.project = $2 and ${IS_USABLE})`;

const ADD = statement(`
  insert into hf.access_key as k
         (id, project, roles, name, digest, created_at, created_by, expires_at)
  select $1, $2::text, $3, $4, $5, clock.now, $6, least(clock.now + $7::bigint, maker.expires_at, maker.ended_at)
    from (select hf_now() as now) clock
    left join hf.access_key maker on maker.id = $10
   where ($2::text is null or exists (select 1 from hf.project p where p.name = $2)) -- guard: project
     and (not $8::boolean or not exists (select 1 from hf.access_key)) -- guard: first
     and ($10::text is null or exists (select 1 from hf.access_key u where u.id = $10 and ${IS_USABLE})) -- guard: maker
     and ($11::text is null or exists (select 1 from hf.access_key u where u.id = $11 and ${IS_USABLE})) -- guard: rotated
     and ($2::text is null or $9::bigint is null or ${USED} < ${limitOf('keys', '$2', '$9')}) -- guard: quota
      on conflict (id) do nothing
  returning k.created_at, k.expires_at`);

// What refusals are explained from: all of it at one moment.
const VIEW = statement(`
  select hf_now() as now,
         exists (select 1 from hf.project p where p.name = $2) as knows_project,
         exists (select 1 from hf.access_key) as has_keys,
         ${USED} as used,
         ${limitOf('keys', '$2', '$3')} as quota,
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

export async function addKey(database: Database, request: AddKey): Promise<KeyAdded> {
  for (;;) {
    if (await adds(database, request)) return { kind: 'added', existing: false };
    const view = await look(database, request);
    const ended = await endedOf(database, request, view.now);
    const decision = decideAddKey({ ...view, ended }, request);
    if (decision.kind === 'refused') return decision;
    if (decision.kind === 'existing') return { kind: 'added', existing: true };
    // Its project was put, or another key ended, in between.
  }
}

function adds(database: Database, request: AddKey): Promise<boolean> {
  const row = fromAddKey(request);
  const values = [row.id, row.project, row.roles, row.name, row.digest, row.createdBy];
  const limits = [row.expiresInMs, request.first === true, request.quota ?? null];
  const others = [row.madeBy, row.rotates];
  return database.transaction(async (queries) => {
    await queries.rows(LOCK_KEYS, []);
    const [added] = await queries.rows<AddedRow>(ADD, [...values, ...limits, ...others]);
    if (added === undefined) return false;
    const times = timesOf(added);
    const changed = changedByAddKey(request, times);
    await writeAudit(queries, [auditOf(request, changed, times.createdAt)]);
    return true;
  });
}

type AddedRow = Pick<AccessKeyRow, 'created_at' | 'expires_at'>;

/** The key that makes it, or that it replaces, if that is not usable. */
async function endedOf(
  database: Database,
  { madeBy, rotates }: AddKey,
  now: Instant,
): Promise<string | undefined> {
  for (const id of [madeBy, rotates]) {
    if (id === undefined) continue;
    const found = await key(database, id);
    if (found === undefined || !isUsable(found, now)) return id;
  }
  return undefined;
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

interface ViewRow {
  readonly now: number;
  readonly knows_project: boolean;
  readonly has_keys: boolean;
  readonly used: number;
  readonly quota: number;
}

/** As it is, for what was refused. */
export async function look(
  database: Database,
  { id, project, quota }: Pick<AddKey, 'id' | 'project' | 'quota'>,
): Promise<Omit<AddKeyView, 'ended'> & { readonly now: Instant }> {
  type Row = ViewRow & (AccessKeyRow | { readonly id: null });
  const [row] = await database.rows<Row>(VIEW, [id, project ?? null, quota ?? null]);
  assert(row !== undefined, 'P-4: there is always something to see');
  return {
    now: toInstant(row.now),
    stored: row.id === null ? undefined : toAccessKey(row),
    knowsProject: row.knows_project,
    hasKeys: row.has_keys,
    used: row.used,
    limit: quota === undefined ? undefined : row.quota,
  };
}
