// The client's methods for the audit and for refused writes.

import { type Calls, callOperation, type PageQuery } from '../../client/calls.ts';
import type { AuditMessage } from './messages.ts';

/** Filters and page of the audit. */
export interface AuditFilter extends PageQuery {
  /** The kind of target. Needs `targetId`. */
  readonly target?: AuditMessage['target']['kind'];
  /** The id of the target. */
  readonly targetId?: string;
  /** Only records of this actor. */
  readonly actor?: string;
  /** Only records of this operation. */
  readonly action?: AuditMessage['action'];
  /** Records from this time on, as ISO 8601 text. */
  readonly from?: string;
  /** Records before this time, as ISO 8601 text. */
  readonly to?: string;
}

/** Operations of `client.records`. */
export function recordsOf(client: Calls) {
  return {
    /** Returns a page of the audit, newest first. */
    audit: (filter: AuditFilter = {}) => callOperation(client, 'GET /v1/audit', filter),
    /** Adds a note to an execution. The execution does not change. */
    async note(execution: string, text: string): Promise<void> {
      await callOperation(client, 'POST /v1/executions/:id/notes', { id: execution, text });
    },
    /** Returns counts of writes that were refused to workers, the latest first. */
    refusedWrites: (filter: PageQuery & { readonly execution?: string } = {}) =>
      callOperation(client, 'GET /v1/refused-writes', filter),
  };
}
