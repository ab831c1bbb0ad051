// What is on record: who did what, and what was refused to workers.

import { ask, type Calls, type PageQuery } from '../../client/calls.ts';
import type { AuditMessage } from './messages.ts';

export interface AuditFilter extends PageQuery {
  /** With `targetId`. */
  readonly target?: AuditMessage['target']['kind'];
  readonly targetId?: string;
  readonly actor?: string;
  readonly act?: AuditMessage['act'];
}

export function recordsOf(client: Calls) {
  return {
    /** Newest first. */
    audit: (filter: AuditFilter = {}) => ask(client, 'GET /v1/audit', filter),
    /** Kept with the audit; nothing of the execution changes. */
    async note(execution: string, text: string): Promise<void> {
      await ask(client, 'POST /v1/executions/:id/notes', { id: execution, text });
    },
    /** The last seen first. */
    refusedWrites: (filter: PageQuery & { readonly execution?: string } = {}) =>
      ask(client, 'GET /v1/refused-writes', filter),
  };
}
