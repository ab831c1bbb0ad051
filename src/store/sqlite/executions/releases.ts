import type { PipelineName } from '../../../execution/names.ts';
import { routeOf } from '../../../execution/route.ts';
import { differenceOf } from '../../../release/decide/line.ts';
import { keptPreflight } from '../../../release/decide/preflight.ts';
import type { Release, ReleaseKey } from '../../../release/release.ts';
import { assert } from '../../../support/assert.ts';
import type {
  ListReleases,
  NotePreflight,
  PreflightNoted,
  RegisterRelease,
  ReleaseRegistered,
} from '../../contract/release-store.ts';
import { fromRelease, type ReleaseRow, toRelease } from '../../release-rows.ts';
import type { ReadTransaction, Transaction } from '../transaction.ts';

const COLUMNS =
  'project, pipeline, name, artifact, digest, contract_version, contract, created_at, created_by, preflight, retired_at';

// RE-3: a name is given once.
const REGISTER = `
  insert into release (project, pipeline, name, artifact, digest, contract_version, contract, created_at, created_by)
  values (:project, :pipeline, :name, :artifact, :digest, :contract_version, :contract, :now, :created_by)
  on conflict (project, pipeline, name) do nothing`;

const READ = `
  select ${COLUMNS}
    from release
   where project = :project
     and pipeline = :pipeline
     and name = :name`;

const NOTE = `
  update release
     set preflight = :preflight
   where project = :project
     and pipeline = :pipeline
     and name = :name`;

const NAMED = `
  select ${COLUMNS}
    from release
   where name = :name
     and (:project is null or project = :project)`;

export function registerRelease(tx: Transaction, request: RegisterRelease): ReleaseRegistered {
  const { pipeline, name } = request;
  const isNew = tx.run(REGISTER, { ...fromRelease(request), now: tx.now }) > 0;
  if (isNew) return { kind: 'registered', existing: false };
  const stored = readRelease(tx, request);
  assert(stored !== undefined, 'RE-3: a name that is taken is stored');
  if (stored.retiredAt !== undefined) {
    return { kind: 'refused', why: 'release-retired', pipeline, name };
  }
  const part = differenceOf(stored, request);
  if (part !== undefined) return { kind: 'refused', why: 'release-differs', pipeline, name, part };
  return { kind: 'registered', existing: true };
}

export function readRelease(
  tx: ReadTransaction,
  { project, pipeline, name }: ReleaseKey,
): Release | undefined {
  const row = tx.get<ReleaseRow>(READ, { project, pipeline, name });
  return row === undefined ? undefined : toRelease(row);
}

/** Of all pipelines, and of all projects unless one is named. */
export function releasesNamed(
  tx: ReadTransaction,
  { name, project }: { readonly name: string; readonly project: string | undefined },
): readonly Release[] {
  return tx.all<ReleaseRow>(NAMED, { name, project: project ?? null }).map(toRelease);
}

export function releases(tx: ReadTransaction, query: ListReleases): readonly Release[] {
  const { project, pipeline, before, limit } = query;
  const sql = `
  select ${COLUMNS}
    from release indexed by release_list
   where project = :project
     ${pipeline === undefined ? '' : 'and pipeline = :pipeline'}
     ${before === undefined ? '' : 'and (created_at, pipeline, name) < (:at, :beforePipeline, :beforeName)'}
   order by created_at desc, pipeline desc, name desc
   limit :limit`;
  const place =
    before === undefined
      ? {}
      : { at: before.createdAt, beforePipeline: before.pipeline, beforeName: before.name };
  const filter = pipeline === undefined ? {} : { pipeline };
  return tx.all<ReleaseRow>(sql, { project, limit, ...filter, ...place }).map(toRelease);
}

export function notePreflight(tx: Transaction, request: NotePreflight): PreflightNoted {
  const { project, pipeline, name, unseen = [] } = request;
  const stored = readRelease(tx, request);
  if (stored === undefined) return { kind: 'refused', why: 'release-unknown', pipeline, name };
  const preflight = keptPreflight(stored.preflight, request.preflight, unseen);
  const text = JSON.stringify({ ...preflight, at: tx.now });
  tx.run(NOTE, { project, pipeline, name, preflight: text });
  return { kind: 'noted', preflight };
}

const NAMES = 'select name from release where project = :project and pipeline = :pipeline';

/** What is pinned to no release, and what to each there is. */
export function routesTo(
  tx: ReadTransaction,
  project: string,
  pipeline: PipelineName,
): readonly PipelineName[] {
  const names = tx.all<{ name: string }>(NAMES, { project, pipeline });
  return [pipeline, ...names.map(({ name }) => routeOf({ pipeline, release: name }))];
}
