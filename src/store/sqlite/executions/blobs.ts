import type { ExecutionId } from '../../../execution/names.ts';
import type {
  AttributeBlobs,
  Blob,
  BlobsOf,
  PayloadStore,
  ReadBlob,
} from '../../contract/payload-store.ts';
import { STATUS_CODES } from '../../execution-rows.ts';
import type { Database } from '../database.ts';
import type { ReadTransaction, Transaction } from '../transaction.ts';

// the same digest is the same bytes.
const PUT = `
  insert into blob (digest, at, project, bytes)
  values (:digest, :now, :project, :bytes)
  on conflict (digest) do nothing`;

const NOTE = `
  insert into blob_of (digest, project, at, bytes)
  values (:digest, :project, :now, :bytes)
  on conflict do nothing`;

const LOAD = `
  select bytes
    from blob
   where digest = :digest
     and exists (select 1 from blob_of where blob_of.digest = :digest and blob_of.project = :project) -- guard: project`;

const MISSING = `
  select value as digest
    from json_each(:digests)
   where not exists (select 1 from blob_of where blob_of.digest = value and blob_of.project = :project)`;

const ATTRIBUTE = `
  insert into blob_of (digest, project, at, bytes)
  select digest, :project, :now, bytes
    from blob_of
   where digest in (select value from json_each(:digests))
     and project = '' -- guard: of-before
     and (:within is null or at + :within >= :now)
  on conflict do nothing`;

// What runs is bounded by what workers can carry.
const REFERRING = `
  select execution.id
    from execution
    join input on input.row_id = execution.row_id
   where execution.status = ${STATUS_CODES.running}
     and execution.project = :project
     and exists (select 1 from blob_of where blob_of.digest = :digest and blob_of.project = '')
     and (instr(input.input, :digest)
          or instr(execution.progress, :digest)
          or exists (select 1 from history where history.row_id = execution.row_id and instr(history.body, :digest))
          or exists (select 1 from inbox where inbox.execution_id = execution.id and instr(inbox.body, :digest)))`;

function putBlob(tx: Transaction, { project, digest, bytes }: Blob): void {
  tx.run(PUT, { digest, project, bytes, now: tx.now });
  tx.run(NOTE, { digest, project, now: tx.now, bytes: bytes.length });
}

/** */
function getBlob(tx: ReadTransaction, { project, digest }: ReadBlob): Uint8Array | undefined {
  return tx.get<{ bytes: Uint8Array }>(LOAD, { project, digest })?.bytes;
}

function missingBlobs(tx: ReadTransaction, { project, digests }: BlobsOf): readonly string[] {
  const values = { project, digests: JSON.stringify(digests) };
  return tx.all<{ digest: string }>(MISSING, values).map(({ digest }) => digest);
}

/** */
function attributeBlobs(tx: Transaction, { project, digests, putWithinMs }: AttributeBlobs): void {
  const within = putWithinMs ?? null;
  tx.run(ATTRIBUTE, { project, digests: JSON.stringify(digests), within, now: tx.now });
}

function referring(tx: ReadTransaction, { project, digest }: ReadBlob): readonly ExecutionId[] {
  return tx.all<{ id: ExecutionId }>(REFERRING, { project, digest }).map(({ id }) => id);
}

export function payloadsOf(database: Database): PayloadStore {
  return {
    putBlob: (blob) => database.perform(putBlob, { ...blob, bytes: Uint8Array.from(blob.bytes) }),
    getBlob: (query) => database.read((tx) => getBlob(tx, query)),
    missingBlobs: (query) => database.read((tx) => missingBlobs(tx, query)),
    attributeBlobs: (request) => database.perform(attributeBlobs, request),
    referring: (query) => database.read((tx) => referring(tx, query)),
  };
}
