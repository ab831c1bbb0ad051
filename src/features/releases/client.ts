// Releases: what was built, and where new executions go.

import { ask, type Calls, type PageQuery } from '../../client/calls.ts';
import type { BulkMoveBody } from '../repair/messages.ts';
import type { LineBody, MoveBody, PreflightBody, RegisterBody } from './messages.ts';

export function releasesClient(client: Calls) {
  return {
    /** The same again is fine. */
    register: (pipeline: string, body: RegisterBody) =>
      ask(client, 'POST /v1/pipelines/:pipeline/releases', { ...body, pipeline }),
    /** Newest first. */
    list: (pipeline: string) => ask(client, 'GET /v1/pipelines/:pipeline/releases', { pipeline }),
    /** Of every pipeline that has releases, by name. */
    lines: (page: PageQuery = {}) => ask(client, 'GET /v1/pipelines', page),
    /** What its contract changes, against what is active unless said. */
    compare: (pipeline: string, name: string, query: { readonly against?: string } = {}) =>
      ask(client, 'GET /v1/pipelines/:pipeline/releases/:name/changes', {
        ...{ ...query, pipeline, name },
      }),
    line: (pipeline: string) => ask(client, 'GET /v1/pipelines/:pipeline/line', { pipeline }),
    /** Activates, gives a share, promotes, rolls back, deactivates, retires. */
    change: (pipeline: string, body: LineBody) =>
      ask(client, 'POST /v1/pipelines/:pipeline/line', { ...body, pipeline }),
    /** Newest first. */
    log: (pipeline: string) => ask(client, 'GET /v1/pipelines/:pipeline/activations', { pipeline }),
    preflight: (pipeline: string, name: string, body: PreflightBody = {}) =>
      ask(client, 'POST /v1/pipelines/:pipeline/releases/:name/preflight', {
        ...{ ...body, pipeline, name },
      }),
    /** Another release for an open execution. */
    move: (id: string, body: MoveBody) =>
      ask(client, 'POST /v1/executions/:id/move', { ...body, id }),
    /** Another release for all that is open and pinned to one: a job, to be followed by `client.jobs`. */
    moveAll: (pipeline: string, body: BulkMoveBody) =>
      ask(client, 'POST /v1/pipelines/:pipeline/move', { ...body, pipeline }),
  };
}
