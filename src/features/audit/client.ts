// The client's methods for the audit and for refused writes.

import { type Calls, callOperation, type PageQuery } from '../../client/calls.ts';
import type { AuditMessage } from './messages.ts';

export interface AuditFilter extends PageQuery {
  /** Needs `targetId`. */
  readonly target?: AuditMessage['target']['kind'];
  readonly targetId?: string;
  readonly actor?: string;
  readonly act?: AuditMessage['act'];
}

export function recordsOf(client: Calls) {
  return {
    /** Newest first. */
    audit: (filter: AuditFilter = {}) => callOperation(client, 'GET /v1/audit', filter),
    /** The audit keeps the note. The execution does not change. */
    async note(execution: string, text: string): Promise<void> {
      await callOperation(client, 'POST /v1/executions/:id/notes', { id: execution, text });
    },
    /** Sorted by the last occurrence, newest first. */
    refusedWrites: (filter: PageQuery & { readonly execution?: string } = {}) =>
      callOperation(client, 'GET /v1/refused-writes', filter),
  };
}
