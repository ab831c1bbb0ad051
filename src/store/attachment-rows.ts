// Converts rows to attachments, for both SQL stores.

import type { Attachment } from './contract/execution-store.ts';

export interface AttachmentRow {
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly sealed_by: string | null;
  readonly bytes: Uint8Array;
}

export function toAttachment(row: AttachmentRow): Attachment {
  const { name, type, size, sealed_by: by } = row;
  // Callers must not see the driver's own byte type, such as a Buffer.
  const bytes = new Uint8Array(row.bytes);
  return { name, type, bytes, ...(by === null ? {} : { sealed: { by, size } }) };
}
