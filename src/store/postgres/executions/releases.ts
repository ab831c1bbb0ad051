import type { NoSuchRelease } from '../../../execution/refusal.ts';
import { differenceOf, noSuchRelease } from '../../../release/decide/line.ts';
import { keptPreflight } from '../../../release/decide/preflight.ts';
import type { Release, ReleaseKey } from '../../../release/release.ts';
import { assert } from '../../../support/assert.ts';
import type { Submit } from '../../contract/execution-store.ts';
import type {
  ListReleases,
  NotePreflight,
  PreflightNoted,
  RegisterRelease,
  ReleaseRegistered,
} from '../../contract/release-store.ts';
import { fromRelease, type ReleaseRow, toRelease } from '../../release-rows.ts';
import { persistently } from '../committer.ts';
import { type Attempted, type Queries, statement } from '../database.ts';
import type { Parts } from './parts.ts';

const COLUMNS =
  'r.project, r.pipeline, r.name, r.artifact, r.digest, r.contract_version, r.contract, r.created_at, r.created_by, r.preflight, r.retired_at';

// RE-3: a name is given once.
const REGISTER = statement(`
  insert into hf.release as r
         (project, pipeline, name, artifact, digest, contract_version, contract, created_at, created_by)
  values ($1, $2, $3, $4, $5, $6, $7, hf_now(), $8)
      on conflict (project, pipeline, name) do nothing
  returning r.name`);

const READ = statement(`
  select ${COLUMNS}
    from hf.release r
   where r.project = $1
     and r.pipeline = $2
     and r.name = $3`);

const NAMED = statement(`
  select ${COLUMNS}
    from hf.release r
   where r.name = $1
     and ($2::text is null or r.project = $2)`);

const LIST = statement(`
  select ${COLUMNS}
    from hf.release r
   where r.project = $1
     and ($2::text is null or r.pipeline = $2)
     and ($3::bigint is null or (r.created_at, r.pipeline, r.name) < ($3, $4::text, $5::text))
   order by r.created_at desc, r.pipeline desc, r.name desc
   limit $6`);

const NOTE = statement(`
  update hf.release r
     set preflight = (jsonb_set($4::jsonb, '{at}', to_jsonb(hf_now())))::text
   where r.project = $1
     and r.pipeline = $2
     and r.name = $3`);

// Of two at once the second keeps what the first found.
const LOCK = statement(
  'select r.name from hf.release r where r.project = $1 and r.pipeline = $2 and r.name = $3 for update of r',
);

export async function registerRelease(
  { database, boundaries }: Parts,
  request: RegisterRelease,
): Promise<ReleaseRegistered> {
  const { pipeline, name } = request;
  const row = fromRelease(request);
  const values = [row.project, row.pipeline, row.name, row.artifact, row.digest];
  const rest = [row.contract_version, row.contract, row.created_by];
  const inserted = await boundaries.around(() => database.rows(REGISTER, [...values, ...rest]));
  if (inserted.length > 0) return { kind: 'registered', existing: false };
  const stored = await readRelease(database, request);
  assert(stored !== undefined, 'RE-3: a name that is taken is stored');
  if (stored.retiredAt !== undefined) {
    return { kind: 'refused', why: 'release-retired', pipeline, name };
  }
  const part = differenceOf(stored, request);
  if (part !== undefined) return { kind: 'refused', why: 'release-differs', pipeline, name, part };
  return { kind: 'registered', existing: true };
}

export async function readRelease(
  queries: Queries,
  { project, pipeline, name }: ReleaseKey,
): Promise<Release | undefined> {
  const [row] = await queries.rows<ReleaseRow & object>(READ, [project, pipeline, name]);
  return row === undefined ? undefined : toRelease(row);
}

/** Of all pipelines, and of all projects unless one is named. */
export async function releasesNamed(
  queries: Queries,
  { name, project }: { readonly name: string; readonly project: string | undefined },
): Promise<readonly Release[]> {
  const rows = await queries.rows<ReleaseRow & object>(NAMED, [name, project ?? null]);
  return rows.map(toRelease);
}

export async function releases(
  queries: Queries,
  { project, pipeline, before, limit }: ListReleases,
): Promise<readonly Release[]> {
  const place = [before?.createdAt ?? null, before?.pipeline ?? null, before?.name ?? null];
  const values = [project, pipeline ?? null, ...place, limit];
  return (await queries.rows<ReleaseRow & object>(LIST, values)).map(toRelease);
}

export function notePreflight(parts: Parts, request: NotePreflight): Promise<PreflightNoted> {
  return persistently(parts.surroundings, () =>
    parts.database.attempt((queries) => note(queries, request), parts.boundaries),
  );
}

async function note(queries: Queries, request: NotePreflight): Promise<Attempted<PreflightNoted>> {
  const { project, pipeline, name, unseen = [] } = request;
  await queries.rows(LOCK, [project, pipeline, name]);
  const stored = await readRelease(queries, request);
  if (stored === undefined) {
    return { keep: false, result: { kind: 'refused', why: 'release-unknown', pipeline, name } };
  }
  const preflight = keptPreflight(stored.preflight, request.preflight, unseen);
  await queries.rows(NOTE, [project, pipeline, name, JSON.stringify(preflight)]);
  return { keep: true, result: { kind: 'noted', preflight } };
}

/** RE-6: of a release that was asked for by name, once nothing was inserted. */
export async function refuseRelease(
  queries: Queries,
  { project, pipeline, release: name }: Submit,
): Promise<NoSuchRelease | undefined> {
  if (name === undefined) return undefined;
  return noSuchRelease(await readRelease(queries, { project, pipeline, name }), { pipeline, name });
}
