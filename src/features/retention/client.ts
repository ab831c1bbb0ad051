// What was archived.

import { type Calls, type Page, type PageQuery, part } from '../../client/calls.ts';
import type {
  ArchivedInFullMessage,
  ArchivedMessage,
  ArchiveRunMessage,
  VerifiedMessage,
} from './messages.ts';

export interface ArchiveFilter extends PageQuery {
  readonly pipeline?: string;
  readonly status?: ArchivedMessage['status'];
  readonly tag?: string;
  /** Words of the key; all of them. */
  readonly text?: string;
  /** ISO 8601: ended at this time or later. */
  readonly from?: string;
  /** ISO 8601: ended before this time. */
  readonly to?: string;
}

export class ArchiveCalls {
  readonly #client: Calls;

  constructor(client: Calls) {
    this.#client = client;
  }

  /** The last ended first. */
  list(filter: ArchiveFilter = {}): Promise<Page<ArchivedMessage>> {
    return this.#client.call('/v1/archive', { query: { ...filter } });
  }

  search(text: string, filter: ArchiveFilter = {}): Promise<Page<ArchivedMessage>> {
    return this.list({ ...filter, text });
  }

  get(id: string): Promise<ArchivedInFullMessage> {
    return this.#client.call(`/v1/archive/${part(id)}`);
  }

  /** The content of one of its documents. */
  async document(id: string, name: string): Promise<Uint8Array> {
    const path = `/v1/archive/${part(id)}/document`;
    return this.#client.bytes(path, { query: { name } });
  }

  verify(id: string): Promise<VerifiedMessage> {
    return this.#client.call(`/v1/archive/${part(id)}/verification`);
  }

  /** One page of what is due; goes on with the cursor. */
  run(
    page: { readonly cursor?: string; readonly limit?: number } = {},
  ): Promise<ArchiveRunMessage> {
    return this.#client.call('/v1/archive/run', { method: 'POST', body: { ...page } });
  }
}
