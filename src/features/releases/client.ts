// The client's methods for releases and rollouts.

import { type Calls, callOperation, type PageQuery } from '../../client/calls.ts';
import type { BulkRepinBody } from '../repair/messages.ts';
import type { PreflightBody, RegisterBody, RepinBody, RolloutBody } from './messages.ts';

export function releasesClient(client: Calls) {
  return {
    /** Repeating the same request is safe. */
    register: (pipeline: string, body: RegisterBody) =>
      callOperation(client, 'POST /v1/pipelines/:pipeline/releases', { ...body, pipeline }),
    /** Newest first. */
    list: (pipeline: string) =>
      callOperation(client, 'GET /v1/pipelines/:pipeline/releases', { pipeline }),
    /** Every pipeline that has releases, by name. */
    rollouts: (page: PageQuery = {}) => callOperation(client, 'GET /v1/pipelines', page),
    /** The changes of its contract, by default against the active release. */
    compare: (pipeline: string, name: string, query: { readonly against?: string } = {}) =>
      callOperation(client, 'GET /v1/pipelines/:pipeline/releases/:name/changes', {
        ...{ ...query, pipeline, name },
      }),
    rollout: (pipeline: string) =>
      callOperation(client, 'GET /v1/pipelines/:pipeline/rollout', { pipeline }),
    /** Activates, sets a canary, promotes, rolls back, deactivates or retires. */
    change: (pipeline: string, body: RolloutBody) =>
      callOperation(client, 'POST /v1/pipelines/:pipeline/rollout', { ...body, pipeline }),
    /** Newest first. */
    log: (pipeline: string) =>
      callOperation(client, 'GET /v1/pipelines/:pipeline/activations', { pipeline }),
    preflight: (pipeline: string, name: string, body: PreflightBody = {}) =>
      callOperation(client, 'POST /v1/pipelines/:pipeline/releases/:name/preflight', {
        ...{ ...body, pipeline, name },
      }),
    /** Repins an open execution to another release. */
    repin: (id: string, body: RepinBody) =>
      callOperation(client, 'POST /v1/executions/:id/repin', { ...body, id }),
    /** Repins all open executions of a release, as a job. Follow it with `client.jobs`. */
    repinAll: (pipeline: string, body: BulkRepinBody) =>
      callOperation(client, 'POST /v1/pipelines/:pipeline/repin', { ...body, pipeline }),
  };
}
