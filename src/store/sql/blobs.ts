// Attachments, and large payloads, which the projects that put them share.

import type { ExecutionId } from '../../execution/names.ts';
import type { AttachmentSummary, ReadAttachments } from '../contract/execution-reads.ts';
import type { Attachment, ExecutionStore } from '../contract/execution-store.ts';
import type {
  AttributeBlobs,
  Blob,
  BlobsOf,
  PayloadStore,
  ReadBlob,
} from '../contract/payload-store.ts';
import { STATUS_CODES } from '../execution-rows.ts';
import { all, found, type Gateway, one, type Script, sql, sqlPerDialect } from './script.ts';

// A digest always has the same content, so the first put wins.
const PUT = sql(`
  insert into hf.blob (digest, at, project, bytes)
  values (:digest, hf_now(), :project, :bytes)
      on conflict (digest) do nothing`);

// A row may refer to it soon, so a drop must not take it (F-15).
const HOLD = sql(`
  select b.digest
    from hf.blob as b
   where b.digest = :digest
     for key share of b`);

// The time of the last put keeps a drop away (F-15).
const NOTE = sql(`
  insert into hf.blob_of (digest, project, at, bytes)
  values (:digest, :project, hf_now(), :size)
      on conflict (digest, project) do update set at = excluded.at`);

const GET = sql(`
  select b.bytes
    from hf.blob as b
   where b.digest = :digest
     and exists (select 1 from hf.blob_of as o where o.digest = b.digest and o.project = :project) -- guard: project`);

const KNOWN = sql(`
  select o.digest
    from hf.blob_of as o
   where o.digest = any (:digests::text[])
     and o.project = :project`);

const ATTRIBUTE = sql(`
  insert into hf.blob_of (digest, project, at, bytes)
  select o.digest, :project, hf_now(), o.bytes
    from hf.blob_of as o
   where o.digest = any (:digests::text[])
     and o.project = '' -- guard: of-before
     and (:putWithinMs::bigint is null or o.at + :putWithinMs >= hf_now())
      on conflict do nothing`);

// This reads every running execution of the project. Worker capacity bounds their number.
const REFERRING = sqlPerDialect(
  {
    sqlite: {
      within: 'instr',
      input: '(select input.input from input where input.row_id = e.row_id)',
      history: 'h.row_id = e.row_id',
    },
    postgres: { within: 'strpos', input: 'e.input', history: 'h.execution_id = e.id' },
  },
  ({ within, input, history }) => `
  select e.id
    from hf.execution as e
   where e.status = ${STATUS_CODES.running}
     and e.project = :project
     and exists (select 1 from hf.blob_of as o where o.digest = :digest and o.project = '')
     and (${within}(${input}, :digest) > 0
          or ${within}(e.progress, :digest) > 0
          or ${within}(e.heartbeats, :digest) > 0
          or exists (select 1 from hf.history as h where ${history} and ${within}(h.body, :digest) > 0)
          or exists (select 1 from hf.inbox as i where i.execution_id = e.id and ${within}(i.body, :digest) > 0))`,
);

const READ_ATTACHMENT = sql(`
  select a.name, a.type, a.size, a.sealed_by, a.bytes
    from hf.attachment as a
   where a.execution_id = :id
     and a.name = :name`);

const LIST_ATTACHMENTS = sqlPerDialect(
  { sqlite: 'a.name', postgres: 'a.name collate "C"' },
  (name) => `
  select a.name, a.type, a.size as bytes, a.at
    from hf.attachment as a
   where a.execution_id = :id
   order by ${name}
   limit :limit::bigint + 0`,
);

const NAMED_ATTACHMENTS = sql(`
  select a.name, a.type, a.size as bytes, a.at
    from hf.attachment as a
   where a.execution_id = :id
     and a.name = any (:names::text[])`);

export function payloadsOf({
  read,
  write,
}: Gateway): PayloadStore &
  Pick<ExecutionStore, 'attachment' | 'attachments' | 'namedAttachments'> {
  return {
    putBlob(blob) {
      // Copy the bytes, so that a caller that changes its array later cannot change the stored
      // value (K-3).
      const own = { ...blob, bytes: Uint8Array.from(blob.bytes) };
      return write(() => putBlob(own));
    },
    getBlob: (query) => read(() => getBlob(query)),
    missingBlobs: (query) => read(() => missingBlobs(query)),
    attributeBlobs: (request) => write(() => attributeBlobs(request)),
    referring: (query) => read(() => referring(query)),
    attachment: (query) => read(() => found(READ_ATTACHMENT, query, toAttachment)),
    attachments: (id, limit) => read(() => listAttachments(id, limit)),
    namedAttachments: (query) => read(() => namedAttachments(query)),
  };
}

function* putBlob(blob: Blob): Script<void> {
  // A drop may have deleted it between the two statements.
  do yield* all(PUT, blob);
  while ((yield* one(HOLD, blob)) === undefined);
  yield* all(NOTE, { ...blob, size: blob.bytes.length });
}

/** Returns a blob only to a project that has it. */
function* getBlob(query: ReadBlob): Script<Uint8Array | undefined> {
  const row = yield* one<{ bytes: Uint8Array }>(GET, query);
  return row === undefined ? undefined : new Uint8Array(row.bytes);
}

function* missingBlobs(query: BlobsOf): Script<readonly string[]> {
  const rows = yield* all<{ digest: string }>(KNOWN, query);
  const known = new Set(rows.map(({ digest }) => digest));
  return query.digests.filter((digest) => !known.has(digest));
}

/** Gives a project the blobs that its rows refer to. */
function* attributeBlobs(request: AttributeBlobs): Script<void> {
  yield* all(ATTRIBUTE, request);
}

function* referring(query: ReadBlob): Script<readonly ExecutionId[]> {
  const rows = yield* all<{ id: ExecutionId }>(REFERRING, query);
  return rows.map(({ id }) => id);
}

function* listAttachments(
  id: ExecutionId,
  limit: number = Number.MAX_SAFE_INTEGER,
): Script<readonly AttachmentSummary[]> {
  return (yield* all<AttachmentSummary>(LIST_ATTACHMENTS, { id, limit })).map(toSummary);
}

function* namedAttachments(query: ReadAttachments): Script<readonly AttachmentSummary[]> {
  return (yield* all<AttachmentSummary>(NAMED_ATTACHMENTS, query)).map(toSummary);
}

function toSummary({ name, type, bytes, at }: AttachmentSummary): AttachmentSummary {
  return { name, type, bytes, at };
}

interface AttachmentRow {
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly sealed_by: string | null;
  readonly bytes: Uint8Array;
}

function toAttachment(row: AttachmentRow): Attachment {
  const { name, type, size, sealed_by: by } = row;
  // Callers must not see the driver's own byte type, such as a Buffer.
  const bytes = new Uint8Array(row.bytes);
  return { name, type, bytes, ...(by === null ? {} : { sealed: { by, size } }) };
}
