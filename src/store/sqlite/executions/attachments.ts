import type { ExecutionId } from '../../../execution/names.ts';
import type { Instant } from '../../../support/clock.ts';
import { type AttachmentRow, toAttachment } from '../../attachment-rows.ts';
import type {
  Attachment,
  AttachmentSummary,
  ReadAttachment,
} from '../../contract/execution-store.ts';
import type { ReadTransaction } from '../transaction.ts';

const LOAD = `
  select name, type, size, sealed_by, bytes
    from attachment
   where execution_id = :id
     and name = :name`;

const LIST = `
  select name, type, size as bytes, at
    from attachment
   where execution_id = :id
   order by name`;

interface Summary {
  readonly name: string;
  readonly type: string;
  readonly bytes: number;
  readonly at: Instant;
}

export function attachment(tx: ReadTransaction, query: ReadAttachment): Attachment | undefined {
  const { id, name } = query;
  const row = tx.get<AttachmentRow>(LOAD, { id, name });
  return row === undefined ? undefined : toAttachment(row);
}

export function attachments(tx: ReadTransaction, id: ExecutionId): readonly AttachmentSummary[] {
  return tx
    .all<Summary>(LIST, { id })
    .map(({ name, type, bytes, at }) => ({ name, type, bytes, at }));
}
