// The client's methods for projects and keys. Admin routes may have an address of their own.

import { type Calls, callOperation, type PageQuery } from '../../client/calls.ts';
import type { KeyBody, ProjectBody, RevokeKeyBody } from './messages.ts';

/** Operations of `client.projects`. */
export function projectsClient(client: Calls) {
  return {
    /** Creates a project or changes its settings. */
    put: (name: string, settings: ProjectBody = {}) =>
      callOperation(client, 'PUT /v1/projects/:name', { ...settings, name }),
    /** Returns a project. */
    read: (name: string) => callOperation(client, 'GET /v1/projects/:name', { name }),
    /** Returns a page of projects. */
    list: (page: PageQuery = {}) => callOperation(client, 'GET /v1/projects', page),
  };
}

/** Filter and page of a list of access keys. */
export interface KeyFilter extends PageQuery {
  /** Only keys of this project. */
  readonly project?: string;
  /** True: revoked and expired keys too. Default false. */
  readonly all?: boolean;
}

/** Operations of `client.keys`. */
export function keysClient(client: Calls) {
  return {
    /** Creates an access key. The response has its secret, which is never shown again. */
    create: (body: KeyBody) => callOperation(client, 'POST /v1/keys', body),
    /** Returns a page of access keys. */
    list: (filter: KeyFilter = {}) => callOperation(client, 'GET /v1/keys', filter),
    /** Returns an access key, without its secret. */
    read: (id: string) => callOperation(client, 'GET /v1/keys/:id', { id }),
    /**
     * Revokes an access key in `inMs` milliseconds (default now). `created`: also the keys that it
     * created.
     */
    revoke: (id: string, inMs = 0, options: Pick<RevokeKeyBody, 'descendants'> = {}) =>
      callOperation(client, 'POST /v1/keys/:id/revoke', { id, inMs, ...options }),
    /**
     * Creates a new key in place of an old one, which stays valid for `endsInMs` milliseconds
     * (default an hour).
     */
    rotate: (id: string, endsInMs?: number) =>
      callOperation(client, 'POST /v1/keys/:id/rotate', { id, endsInMs }),
  };
}
