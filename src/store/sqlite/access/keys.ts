import { type AccessKey, isUsable } from '../../../access/access-key.ts';
import { decideAddKey } from '../../../access/decide/add-key.ts';
import { changedByAddKey } from '../../../access/decide/audit.ts';
import { assert } from '../../../support/assert.ts';
import { type AccessKeyRow, fromAddKey, startOf, toAccessKey } from '../../access-rows.ts';
import type { AddKey, KeyAdded, ListKeys } from '../../contract/access-store.ts';
import { writeAudit } from '../../sql/audit.ts';
import { play } from '../gateway.ts';
import type { ReadTransaction, Transaction } from '../transaction.ts';
import { limitOf } from './usage.ts';

const COLUMNS = 'id, project, roles, name, digest, created_at, created_by, expires_at, ended_at';

const IS_USABLE = 'coalesce(ended_at > :now, 1) and coalesce(expires_at > :now, 1)';
const USED = `(select count(*) from access_key where project = :project and ${IS_USABLE})`;
const LIMIT = limitOf('keys');

/** P-12: the first of those that are set. */
const END = `(
    select min(at)
      from (select :now + :expiresInMs as at
             union all
            select expires_at from access_key where id = :madeBy
             union all
            select ended_at from access_key where id = :madeBy)
  )`;

const ADD = `
  insert into access_key (${COLUMNS})
  select :id, :project, :roles, :name, :digest, :now, :createdBy, ${END}, null
   where (:project is null or exists (select 1 from project where name = :project)) -- guard: project
     and (:first = 0 or not exists (select 1 from access_key)) -- guard: first
     and (:madeBy is null or exists (select 1 from access_key where id = :madeBy and ${IS_USABLE})) -- guard: maker
     and (:rotates is null or exists (select 1 from access_key where id = :rotates and ${IS_USABLE})) -- guard: rotated
     and (:project is null or :quota is null or ${USED} < ${LIMIT}) -- guard: quota
  on conflict (id) do nothing`;

const READ = `
  select ${COLUMNS}
    from access_key
   where id = :id`;

const VIEW = `
  select exists (select 1 from project where name = :project) as knows_project,
         exists (select 1 from access_key) as has_keys,
         ${USED} as used,
         ${LIMIT} as quota`;

const LIST = listOf('');
const LIST_PROJECT = listOf('and project = :project');

function listOf(scope: string): string {
  return `
  select ${COLUMNS}
    from access_key
   where (created_at, id) < (:at, :after)
     ${scope}
     and (:all = 1 or ended_at is null or ended_at > :now)
     and (:all = 1 or expires_at is null or expires_at > :now)
   order by created_at desc, id desc
   limit :limit`;
}

interface ViewRow {
  readonly knows_project: number;
  readonly has_keys: number;
  readonly used: number;
  readonly quota: number;
}

export function addKey(tx: Transaction, request: AddKey): KeyAdded {
  const { id } = request;
  const first = request.first === true ? 1 : 0;
  const limits = { quota: request.quota ?? null, now: tx.now };
  if (tx.run(ADD, { ...fromAddKey(request), first, ...limits }) > 0) {
    const added = key(tx, id);
    assert(added !== undefined, 'P-4: what was added is there');
    play(tx, writeAudit(request, changedByAddKey(request, added), tx.now));
    return { kind: 'added', existing: false };
  }
  const project = request.project ?? null;
  const view = tx.get<ViewRow>(VIEW, { project, ...limits });
  assert(view !== undefined, 'P-4: there is always something to see');
  const decision = decideAddKey(
    {
      stored: key(tx, id),
      knowsProject: view.knows_project === 1,
      hasKeys: view.has_keys === 1,
      ended: [request.madeBy, request.rotates].find((each) => isOver(tx, each)),
      used: view.used,
      limit: request.quota === undefined ? undefined : view.quota,
    },
    request,
  );
  assert(decision.kind !== 'add', 'P-4: what may be added is added');
  return decision.kind === 'existing' ? { kind: 'added', existing: true } : decision;
}

function isOver(tx: ReadTransaction, id: string | undefined): boolean {
  const found = id === undefined ? undefined : key(tx, id);
  return id !== undefined && (found === undefined || !isUsable(found, tx.now));
}

export function key(tx: ReadTransaction, id: string): AccessKey | undefined {
  const row = tx.get<AccessKeyRow>(READ, { id });
  return row === undefined ? undefined : toAccessKey(row);
}

export function keys(tx: ReadTransaction, query: ListKeys): readonly AccessKey[] {
  const { project, limit } = query;
  const { at, id: after } = startOf(query);
  const values = { at, after, limit, all: query.all === true ? 1 : 0, now: tx.now };
  const rows =
    project === undefined
      ? tx.all<AccessKeyRow>(LIST, values)
      : tx.all<AccessKeyRow>(LIST_PROJECT, { ...values, project });
  return rows.map(toAccessKey);
}
