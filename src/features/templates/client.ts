// Templates, as a client sees them.

import { type Calls, type Page, type PageQuery, part, withTags } from '../../client/calls.ts';
import type { TemplateBody, TemplateMessage } from './messages.ts';

export class Templates {
  readonly #client: Calls;

  constructor(client: Calls) {
    this.#client = client;
  }

  /** A version is written once; the same again is fine. */
  put(id: string, version: number, body: TemplateBody): Promise<{ readonly existing: boolean }> {
    const path = `/v1/templates/${part(id)}/versions/${version}`;
    const sent = withTags(`The defaults of "${id}"`, body, 'defaults');
    return this.#client.call(path, { method: 'PUT', body: sent });
  }

  /** The version, or the newest. */
  read(id: string, version?: number): Promise<TemplateMessage> {
    return this.#client.call(`/v1/templates/${part(id)}`, { query: { version } });
  }

  list(page: PageQuery & { readonly id?: string } = {}): Promise<Page<TemplateMessage>> {
    return this.#client.call('/v1/templates', { query: { ...page } });
  }
}
