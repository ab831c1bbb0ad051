import type { ExecutionId } from '../../../execution/names.ts';
import type { Instant } from '../../../support/clock.ts';
import type {
  Attachment,
  AttachmentSummary,
  ReadAttachment,
} from '../../contract/execution-store.ts';
import { type Database, type Queries, statement } from '../database.ts';

const SAVE = statement(`
  insert into hf.attachment as a (execution_id, at, name, type, bytes)
  values ($1, $2, $3, $4, $5)
      on conflict (execution_id, name) do update
     set at    = excluded.at,
         type  = excluded.type,
         bytes = excluded.bytes`);

const READ = statement(`
  select a.name, a.type, a.bytes
    from hf.attachment a
   where a.execution_id = $1
     and a.name = $2`);

const LIST = statement(`
  select a.name, a.type, octet_length(a.bytes) as bytes, a.at
    from hf.attachment a
   where a.execution_id = $1
   order by a.name collate "C"`);

/** In the transaction of the owner who attaches them. The newest of a name stays. */
export async function saveAttachments(
  queries: Queries,
  given: {
    readonly id: ExecutionId;
    readonly attachments: readonly Attachment[];
    readonly at: Instant;
  },
): Promise<void> {
  for (const { name, type, bytes } of given.attachments) {
    await queries.rows(SAVE, [given.id, given.at, name, type, Buffer.from(bytes)]);
  }
}

export async function readAttachment(
  database: Database,
  query: ReadAttachment,
): Promise<Attachment | undefined> {
  const [row] = await database.rows<{ name: string; type: string; bytes: Buffer }>(READ, [
    query.id,
    query.name,
  ]);
  return row === undefined ? undefined : { ...row, bytes: new Uint8Array(row.bytes) };
}

export async function listAttachments(
  database: Database,
  id: ExecutionId,
): Promise<readonly AttachmentSummary[]> {
  return database.rows<AttachmentSummary & object>(LIST, [id]);
}
