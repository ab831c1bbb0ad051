// Projects and keys. Where they are managed may be another address than that of the rest.

import { type Calls, type Page, type PageQuery, part } from '../../client/calls.ts';
import type {
  EndedKey,
  EndKeyBody,
  KeyBody,
  KeyMessage,
  MadeKey,
  ProjectBody,
  ProjectMessage,
  RotatedKey,
} from './messages.ts';

export class Projects {
  readonly #client: Calls;

  constructor(client: Calls) {
    this.#client = client;
  }

  put(name: string, settings: ProjectBody = {}): Promise<{ readonly existing: boolean }> {
    return this.#client.call(`/v1/projects/${part(name)}`, { method: 'PUT', body: settings });
  }

  read(name: string): Promise<ProjectMessage> {
    return this.#client.call(`/v1/projects/${part(name)}`);
  }

  list(page: PageQuery = {}): Promise<Page<ProjectMessage>> {
    return this.#client.call('/v1/projects', { query: { ...page } });
  }
}

export interface KeyFilter extends PageQuery {
  readonly project?: string;
  /** Ended and expired ones too. */
  readonly all?: boolean;
}

export class Keys {
  readonly #client: Calls;

  constructor(client: Calls) {
    this.#client = client;
  }

  /** What it answers with is shown this once. */
  make(body: KeyBody): Promise<MadeKey> {
    return this.#client.call('/v1/keys', { method: 'POST', body });
  }

  list(filter: KeyFilter = {}): Promise<Page<KeyMessage>> {
    return this.#client.call('/v1/keys', { query: { ...filter } });
  }

  read(id: string): Promise<KeyMessage> {
    return this.#client.call(`/v1/keys/${part(id)}`);
  }

  /** `made`: the keys that it made too, and those that they made. */
  end(id: string, inMs = 0, options: Pick<EndKeyBody, 'made'> = {}): Promise<EndedKey> {
    const body: EndKeyBody = { inMs, ...options };
    return this.#client.call(`/v1/keys/${part(id)}/end`, { method: 'POST', body });
  }

  /** The old one is good for `endsInMs` yet; an hour unless said. */
  rotate(id: string, endsInMs?: number): Promise<RotatedKey> {
    const body = endsInMs === undefined ? {} : { endsInMs };
    return this.#client.call(`/v1/keys/${part(id)}/rotate`, { method: 'POST', body });
  }
}
