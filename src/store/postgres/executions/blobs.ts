import type { ExecutionId } from '../../../execution/names.ts';
import type {
  AttributeBlobs,
  Blob,
  BlobsOf,
  PayloadStore,
  ReadBlob,
} from '../../contract/payload-store.ts';
import { STATUS_CODES } from '../../execution-rows.ts';
import { type Database, statement } from '../database.ts';

// What stands under a digest is always the same, so the first to put it wins.
const PUT = statement(`
  with kept as (
    insert into hf.blob (digest, at, project, bytes)
    values ($1, hf_now(), $2, $3)
        on conflict (digest) do nothing
  )
  insert into hf.blob_of (digest, project, at, bytes)
  values ($1, $2, hf_now(), octet_length($3))
      on conflict do nothing`);

const GET = statement(`
  select b.bytes
    from hf.blob b
   where b.digest = $1
     and exists (select from hf.blob_of o where o.digest = b.digest and o.project = $2) -- guard: project`);

const MISSING = statement(`
  select asked.digest
    from unnest($1::text[]) as asked(digest)
   where (select o.digest from hf.blob_of o where o.digest = asked.digest and o.project = $2) is null`);

const ATTRIBUTE = statement(`
  insert into hf.blob_of (digest, project, at, bytes)
  select o.digest, $2, hf_now(), o.bytes
    from hf.blob_of o
   where o.digest = any($1::text[])
     and o.project = '' -- guard: of-before
     and ($3::bigint is null or o.at + $3 >= hf_now())
      on conflict do nothing`);

// What runs is bounded by what workers can carry.
const REFERRING = statement(`
  select e.id
    from hf.execution e
   where e.status = ${STATUS_CODES.running}
     and e.project = $1
     and exists (select from hf.blob_of o where o.digest = $2 and o.project = '')
     and (strpos(e.input, $2) > 0
          or strpos(e.progress, $2) > 0
          or exists (select from hf.history h where h.execution_id = e.id and strpos(h.body, $2) > 0)
          or exists (select from hf.inbox i where i.execution_id = e.id and strpos(i.body, $2) > 0))`);

async function putBlob(database: Database, { project, digest, bytes }: Blob): Promise<void> {
  await database.rows(PUT, [digest, project, Buffer.from(bytes)]);
}

/** */
async function getBlob(
  database: Database,
  { project, digest }: ReadBlob,
): Promise<Uint8Array | undefined> {
  const [row] = await database.rows<{ bytes: Buffer }>(GET, [digest, project]);
  return row === undefined ? undefined : new Uint8Array(row.bytes);
}

async function missingBlobs(
  database: Database,
  { project, digests }: BlobsOf,
): Promise<readonly string[]> {
  const rows = await database.rows<{ digest: string }>(MISSING, [[...digests], project]);
  return rows.map(({ digest }) => digest);
}

/** */
async function attributeBlobs(
  database: Database,
  { project, digests, putWithinMs }: AttributeBlobs,
): Promise<void> {
  await database.rows(ATTRIBUTE, [[...digests], project, putWithinMs ?? null]);
}

async function referring(
  database: Database,
  { project, digest }: ReadBlob,
): Promise<readonly ExecutionId[]> {
  const rows = await database.rows<{ id: ExecutionId }>(REFERRING, [project, digest]);
  return rows.map(({ id }) => id);
}

export function payloadsOf(database: Database): PayloadStore {
  return {
    putBlob: (blob) => putBlob(database, blob),
    getBlob: (query) => getBlob(database, query),
    missingBlobs: (query) => missingBlobs(database, query),
    attributeBlobs: (request) => attributeBlobs(database, request),
    referring: (query) => referring(database, query),
  };
}
