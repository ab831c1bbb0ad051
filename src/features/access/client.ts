// Projects and keys. Where they are managed may be another address than that of the rest.

import { ask, type Calls, type PageQuery } from '../../client/calls.ts';
import type { EndKeyBody, KeyBody, ProjectBody } from './messages.ts';

export function projectsClient(client: Calls) {
  return {
    put: (name: string, settings: ProjectBody = {}) =>
      ask(client, 'PUT /v1/projects/:name', { ...settings, name }),
    read: (name: string) => ask(client, 'GET /v1/projects/:name', { name }),
    list: (page: PageQuery = {}) => ask(client, 'GET /v1/projects', page),
  };
}

export interface KeyFilter extends PageQuery {
  readonly project?: string;
  /** Ended and expired ones too. */
  readonly all?: boolean;
}

export function keysClient(client: Calls) {
  return {
    /** What it answers with is shown this once. */
    make: (body: KeyBody) => ask(client, 'POST /v1/keys', body),
    list: (filter: KeyFilter = {}) => ask(client, 'GET /v1/keys', filter),
    read: (id: string) => ask(client, 'GET /v1/keys/:id', { id }),
    /** `made`: the keys that it made too, and those that they made. */
    end: (id: string, inMs = 0, options: Pick<EndKeyBody, 'made'> = {}) =>
      ask(client, 'POST /v1/keys/:id/end', { id, inMs, ...options }),
    /** The old one is good for `endsInMs` yet; an hour unless said. */
    rotate: (id: string, endsInMs?: number) =>
      ask(client, 'POST /v1/keys/:id/rotate', { id, endsInMs }),
  };
}
