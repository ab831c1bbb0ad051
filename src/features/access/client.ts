// The client's methods for projects and keys. Admin routes may have an address of their own.

import { type Calls, callOperation, type PageQuery } from '../../client/calls.ts';
import type { KeyBody, ProjectBody, RevokeKeyBody } from './messages.ts';

export function projectsClient(client: Calls) {
  return {
    put: (name: string, settings: ProjectBody = {}) =>
      callOperation(client, 'PUT /v1/projects/:name', { ...settings, name }),
    read: (name: string) => callOperation(client, 'GET /v1/projects/:name', { name }),
    list: (page: PageQuery = {}) => callOperation(client, 'GET /v1/projects', page),
  };
}

export interface KeyFilter extends PageQuery {
  readonly project?: string;
  /** Includes revoked and expired keys. */
  readonly all?: boolean;
}

export function keysClient(client: Calls) {
  return {
    /** Only this response contains the key. */
    create: (body: KeyBody) => callOperation(client, 'POST /v1/keys', body),
    list: (filter: KeyFilter = {}) => callOperation(client, 'GET /v1/keys', filter),
    read: (id: string) => callOperation(client, 'GET /v1/keys/:id', { id }),
    /** With `descendants`, also revokes the keys that this key created, and those that they created. */
    revoke: (id: string, inMs = 0, options: Pick<RevokeKeyBody, 'descendants'> = {}) =>
      callOperation(client, 'POST /v1/keys/:id/revoke', { id, inMs, ...options }),
    /** The old key works for `endsInMs` longer (default one hour). */
    rotate: (id: string, endsInMs?: number) =>
      callOperation(client, 'POST /v1/keys/:id/rotate', { id, endsInMs }),
  };
}
