// Access keys (P-4 … P-14).

import {
  changedByCreateKey,
  changedByRevokeKey,
  decideCreateKey,
  decideRevokeKey,
} from '../../../features/access/decide.ts';
import { type AccessKey, isUsable } from '../../../features/access/model.ts';
import type {
  AccessStore,
  CreateKey,
  KeyCreated,
  KeyRevoked,
  ListKeys,
  RevokeKey,
} from '../../../features/access/port.ts';
import {
  type AccessKeyRow,
  fromCreateKey,
  keyTimes,
  startOf,
  toAccessKey,
} from '../../../features/access/rows.ts';
import { assert } from '../../../support/assert.ts';
import { type Instant, laterBy, toInstant } from '../../../support/clock.ts';
import { writeAudit } from '../audit.ts';
import {
  all,
  dialects,
  every,
  one,
  type PlainGateway,
  type Script,
  type Sql,
  sql,
} from '../script.ts';
import { withLimit } from './projects.ts';

const COLUMNS = 'id, project, roles, name, digest, created_at, created_by, expires_at, ended_at';

// On PostgreSQL this waits for all uncommitted changes and blocks new ones, so the next statement
// sees every key. Reads continue. SQLite already holds the write lock (P-6, P-13, P-14).
const LOCK_KEYS = dialects({
  sqlite: 'select 1',
  postgres: 'lock table hf.access_key in share row exclusive mode',
});

const IS_USABLE =
  'coalesce(u.ended_at > hf_now(), true) and coalesce(u.expires_at > hf_now(), true)';
const USED = `(select count(*) from hf.access_key as u where u.project = :project and ${IS_USABLE})`;

/** The earliest of the requested expiry and the end of the key that creates this one (P-12). */
const EXPIRY = `(
    select min(ends.at)
      from (select clock.now + :expiresInMs::bigint as at
             union all
            select m.expires_at from hf.access_key as m where m.id = :createdByKey
             union all
            select m.ended_at from hf.access_key as m where m.id = :createdByKey) as ends
  )`;

const ADD = withLimit(
  'keys',
  (limit) => `
  insert into hf.access_key (id, project, roles, name, digest, created_at, created_by, expires_at)
  select :id::text, :project::text, :roles::text, :name::text, :digest::text, clock.now, :createdBy::text, ${EXPIRY}
    from (select hf_now() as now) as clock
   where (:project::text is null or exists (select 1 from hf.project as p where p.name = :project)) -- guard: project
     and (not :first::boolean or not exists (select 1 from hf.access_key)) -- guard: first
     and (:createdByKey::text is null or exists (select 1 from hf.access_key as u where u.id = :createdByKey and ${IS_USABLE})) -- guard: maker
     and (:rotates::text is null or exists (select 1 from hf.access_key as u where u.id = :rotates and ${IS_USABLE})) -- guard: rotated
     and (:project::text is null or :quota::bigint is null or ${USED} < ${limit}) -- guard: quota
      on conflict (id) do nothing
  returning created_at, expires_at`,
);

const VIEW = withLimit(
  'keys',
  (limit) => `
  select hf_now() as now,
         exists (select 1 from hf.project as p where p.name = :project) as knows_project,
         exists (select 1 from hf.access_key) as has_keys,
         ${USED} as used,
         ${limit} as quota`,
);

const NOW = sql('select hf_now() as now');

const READ = sql(`
  select ${COLUMNS}
    from hf.access_key
   where id = any (:ids::text[])`);

function listOf(scope: string): Sql {
  return sql(`
  select ${COLUMNS}
    from hf.access_key, (select hf_now() as now) as clock
   where ${scope}
     and (created_at, id) < (:at::bigint, :after::text)
     and (:all::boolean or ended_at is null or ended_at > clock.now)
     and (:all::boolean or expires_at is null or expires_at > clock.now)
   order by created_at desc, id desc
   limit :limit`);
}

const LIST = listOf('true');
const LIST_PROJECT = listOf('project = :project');

// A key's end can only move closer (P-8). With `:descendants`, this also ends the keys that it
// created; `nameWithKey` writes their `created_by` (P-13).
const END = sql(`
  with recursive family (id) as (
    select k.id
      from hf.access_key as k
     where k.id = :id
       and (:project::text is null or k.project = :project) -- guard: known
     union
    select child.id
      from family
      join hf.access_key as child on child.created_by like '% (' || family.id || ')'
     where :descendants::boolean
  )
  update hf.access_key
     set ended_at = clock.now + :inMs::bigint
    from (select hf_now() as now) as clock
   where id in (select family.id from family)
     and (:project::text is null or project = :project) -- guard: project
     and (ended_at is null or ended_at > clock.now + :inMs::bigint) -- guard: nearer
  returning id, ended_at, hf_now() as now`);

export function keysOf({
  read,
  write,
}: PlainGateway): Pick<AccessStore, 'createKey' | 'key' | 'keys' | 'revokeKey'> {
  return {
    createKey: (request) => {
      const own = structuredClone(request);
      return write(() => createKey(own));
    },
    key: sharedReads((ids) => read(() => readKeys(ids))),
    keys: (query) => read(() => listKeys(query)),
    revokeKey: (request) => {
      const own = { ...request };
      return write(() => revokeKey(own));
    },
  };
}

interface ViewRow {
  readonly now: number;
  readonly knows_project: number | boolean;
  readonly has_keys: number | boolean;
  readonly used: number;
  readonly quota: number;
}

function* createKey(request: CreateKey): Script<KeyCreated> {
  const { quota, createdByKey, rotates } = request;
  const values = { ...fromCreateKey(request), first: request.first === true, quota };
  yield* all(LOCK_KEYS);
  for (;;) {
    const added = yield* one<Pick<AccessKeyRow, 'created_at' | 'expires_at'>>(ADD, values);
    if (added !== undefined) {
      const times = keyTimes(added);
      yield* writeAudit(request, changedByCreateKey(request, times), times.createdAt);
      return { kind: 'created', existing: false };
    }
    const view = yield* one<ViewRow>(VIEW, values);
    assert(view !== undefined, 'P-4: there is always something to see');
    const facts = {
      stored: yield* readKey(request.id),
      knowsProject: Boolean(view.knows_project),
      hasKeys: Boolean(view.has_keys),
      ended: yield* endedOf([createdByKey, rotates], toInstant(view.now)),
      used: view.used,
      limit: quota === undefined ? undefined : view.quota,
    };
    const decision = decideCreateKey(facts, request);
    if (decision.kind === 'refused') return decision;
    if (decision.kind === 'existing') return { kind: 'created', existing: true };
    // The project was created, or another key expired, in between. Try again.
  }
}

/** Returns the first of these keys that is not usable: the creator, or the key to replace. */
function* endedOf(ids: readonly (string | undefined)[], now: Instant): Script<string | undefined> {
  for (const id of ids) {
    if (id === undefined) continue;
    const found = yield* readKey(id);
    if (found === undefined || !isUsable(found, now)) return id;
  }
  return undefined;
}

function* readKeys(ids: readonly string[]): Script<readonly AccessKey[]> {
  return yield* every(READ, { ids }, toAccessKey);
}

function* readKey(id: string): Script<AccessKey | undefined> {
  return (yield* readKeys([id]))[0];
}

/** The most keys that one statement reads. */
const READ_MAX = 1_000;

/**
 * One statement reads all keys that were asked for while the last one was in progress. So a flood of
 * wrong keys costs few statements, and a valid key does not wait behind it.
 */
function sharedReads(read: (ids: readonly string[]) => Promise<readonly AccessKey[]>) {
  const waiting = new Map<string, PromiseWithResolvers<AccessKey | undefined>>();
  let isReading = false;
  const readWaiting = async (): Promise<void> => {
    isReading = true;
    while (waiting.size > 0) {
      const asked = [...waiting].slice(0, READ_MAX);
      for (const [id] of asked) waiting.delete(id);
      try {
        const found = new Map((await read(asked.map(([id]) => id))).map((key) => [key.id, key]));
        for (const [id, { resolve }] of asked) resolve(found.get(id));
      } catch (fault) {
        for (const [, { reject }] of asked) reject(fault);
      }
    }
    isReading = false;
  };
  return (id: string): Promise<AccessKey | undefined> => {
    const asked = waiting.get(id) ?? Promise.withResolvers<AccessKey | undefined>();
    waiting.set(id, asked);
    if (!isReading) void readWaiting();
    return asked.promise;
  };
}

function* listKeys(query: ListKeys): Script<readonly AccessKey[]> {
  const { project, limit, all: isAll = false } = query;
  const { at, id: after } = startOf(query);
  const list = project === undefined ? LIST : LIST_PROJECT;
  return (yield* all<AccessKeyRow>(list, { at, after, project, limit, all: isAll })).map(
    toAccessKey,
  );
}

interface EndedRow {
  readonly id: string;
  readonly ended_at: number;
  readonly now: number;
}

function* revokeKey(request: RevokeKey): Script<KeyRevoked> {
  const { id, inMs = 0, descendants: isWithAll = false } = request;
  if (isWithAll) yield* all(LOCK_KEYS);
  for (;;) {
    const rows = yield* all<EndedRow>(END, { ...request, inMs, descendants: isWithAll });
    const stored = yield* readKey(id);
    const descendants = rows.flatMap((row) => (row.id === id ? [] : row.id)).sort();
    const [first] = rows;
    if (first !== undefined) {
      // An actor without a project can revoke any key, so take the project from the row.
      const of = { id, project: stored?.project };
      const changed = changedByRevokeKey(of, toInstant(first.ended_at), descendants);
      yield* writeAudit(request, changed, toInstant(first.now));
    }
    const more = isWithAll ? { descendants } : {};
    const own = rows.find((row) => row.id === id);
    if (own !== undefined) {
      return { kind: 'revoked', revokedAt: toInstant(own.ended_at), changed: true, ...more };
    }
    const now = toInstant((yield* one<{ now: number }>(NOW))?.now ?? 0);
    const decision = decideRevokeKey(stored, request, laterBy(now, inMs));
    if (decision.kind === 'refused') return decision;
    if (decision.kind === 'no-change') {
      return { kind: 'revoked', revokedAt: decision.revokedAt, changed: false, ...more };
    }
    // The key was created in between. Try again.
  }
}
