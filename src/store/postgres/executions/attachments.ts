import type { ExecutionId } from '../../../execution/names.ts';
import type { Instant } from '../../../support/clock.ts';
import { type AttachmentRow, toAttachment } from '../../attachment-rows.ts';
import type {
  Attachment,
  AttachmentSummary,
  ReadAttachment,
} from '../../contract/execution-store.ts';
import { type Database, type Queries, statement } from '../database.ts';

const SAVE = statement(`
  insert into hf.attachment as a (execution_id, at, name, type, size, sealed_by, bytes, project)
  values ($1, $2, $3, $4, $5, $6, $7, (select e.project from hf.execution e where e.id = $1))
      on conflict (execution_id, name) do update
     set at        = excluded.at,
         type      = excluded.type,
         size      = excluded.size,
         sealed_by = excluded.sealed_by,
         bytes     = excluded.bytes`);

const READ = statement(`
  select a.name, a.type, a.size, a.sealed_by, a.bytes
    from hf.attachment a
   where a.execution_id = $1
     and a.name = $2`);

const LIST = statement(`
  select a.name, a.type, a.size as bytes, a.at
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
  for (const { name, type, bytes, sealed } of given.attachments) {
    const sealing = [sealed?.size ?? bytes.length, sealed?.by ?? null];
    await queries.rows(SAVE, [given.id, given.at, name, type, ...sealing, Buffer.from(bytes)]);
  }
}

export async function readAttachment(
  database: Database,
  query: ReadAttachment,
): Promise<Attachment | undefined> {
  const [row] = await database.rows<AttachmentRow & object>(READ, [query.id, query.name]);
  return row === undefined ? undefined : toAttachment(row);
}

export async function listAttachments(
  database: Database,
  id: ExecutionId,
): Promise<readonly AttachmentSummary[]> {
  return database.rows<AttachmentSummary & object>(LIST, [id]);
}
