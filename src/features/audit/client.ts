// What is on record: who did what, and what was refused to workers.

import { type Calls, type Page, type PageQuery, part } from '../../client/calls.ts';
import type { AuditMessage, RefusedWriteMessage } from './messages.ts';

export interface AuditFilter extends PageQuery {
  /** With `targetId`. */
  readonly target?: AuditMessage['target']['kind'];
  readonly targetId?: string;
  readonly actor?: string;
  readonly act?: AuditMessage['act'];
}

export class Records {
  readonly #client: Calls;

  constructor(client: Calls) {
    this.#client = client;
  }

  /** Newest first. */
  audit(filter: AuditFilter = {}): Promise<Page<AuditMessage>> {
    return this.#client.call('/v1/audit', { query: { ...filter } });
  }

  /** Kept with the audit; nothing of the execution changes. */
  async note(execution: string, text: string): Promise<void> {
    const path = `/v1/executions/${part(execution)}/notes`;
    await this.#client.call(path, { method: 'POST', body: { text } });
  }

  /** The last seen first. */
  refusedWrites(
    filter: PageQuery & { readonly execution?: string } = {},
  ): Promise<Page<RefusedWriteMessage>> {
    return this.#client.call('/v1/refused-writes', { query: { ...filter } });
  }
}
