import type { ExecutionId } from '../../../execution/names.ts';
import type {
  Attachment,
  AttachmentSummary,
  ReadAttachment,
} from '../../contract/execution-store.ts';
import type { ExecutionState } from './state.ts';

export function attachment(state: ExecutionState, query: ReadAttachment): Attachment | undefined {
  const stored = state.entries.get(query.id)?.attachments.get(query.name);
  if (stored === undefined) return undefined;
  const { at: _, ...attachment } = stored;
  return structuredClone(attachment);
}

/** By name. */
export function attachments(state: ExecutionState, id: ExecutionId): readonly AttachmentSummary[] {
  return [...(state.entries.get(id)?.attachments.values() ?? [])]
    .map(({ name, type, bytes, sealed, at }) => {
      return { name, type, bytes: sealed?.size ?? bytes.byteLength, at };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
