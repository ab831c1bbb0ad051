// The client's methods for releases and rollouts.

import { type Calls, callOperation, type PageQuery } from '../../client/calls.ts';
import type { BulkRepinBody } from '../repair/messages.ts';
import type { PreflightBody, RegisterBody, RepinBody, RolloutBody } from './messages.ts';

/** Operations of `client.releases`. */
export function releasesClient(client: Calls) {
  return {
    /** Registers a release. The same again is safe. */
    register: (pipeline: string, body: RegisterBody) =>
      callOperation(client, 'POST /v1/pipelines/:pipeline/releases', { ...body, pipeline }),
    /** Returns the releases of a pipeline, newest first. */
    list: (pipeline: string) =>
      callOperation(client, 'GET /v1/pipelines/:pipeline/releases', { pipeline }),
    /** Returns a page of rollouts, by pipeline. */
    rollouts: (page: PageQuery = {}) => callOperation(client, 'GET /v1/pipelines', page),
    /** Returns the changes of a release's contract, by default against the active release. */
    compare: (pipeline: string, name: string, query: { readonly against?: string } = {}) =>
      callOperation(client, 'GET /v1/pipelines/:pipeline/releases/:name/changes', {
        ...{ ...query, pipeline, name },
      }),
    /** Returns the rollout of a pipeline. */
    rollout: (pipeline: string) =>
      callOperation(client, 'GET /v1/pipelines/:pipeline/rollout', { pipeline }),
    /**
     * Changes a rollout: activates, sets a canary, promotes, rolls back, deactivates or retires.
     */
    change: (pipeline: string, body: RolloutBody) =>
      callOperation(client, 'POST /v1/pipelines/:pipeline/rollout', { ...body, pipeline }),
    /** Returns the changes of a rollout, newest first. */
    log: (pipeline: string) =>
      callOperation(client, 'GET /v1/pipelines/:pipeline/activations', { pipeline }),
    /** Replays open executions with a release and returns which of them it would break. */
    preflight: (pipeline: string, name: string, body: PreflightBody = {}) =>
      callOperation(client, 'POST /v1/pipelines/:pipeline/releases/:name/preflight', {
        ...{ ...body, pipeline, name },
      }),
    /** Pins an open execution to another release. */
    repin: (id: string, body: RepinBody) =>
      callOperation(client, 'POST /v1/executions/:id/repin', { ...body, id }),
    /** Starts a job that repins open executions. Follow it with `client.jobs`. */
    repinAll: (pipeline: string, body: BulkRepinBody) =>
      callOperation(client, 'POST /v1/pipelines/:pipeline/repin', { ...body, pipeline }),
  };
}
