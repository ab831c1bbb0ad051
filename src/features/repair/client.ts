// The client's methods for dead letters and bulk jobs.

import { type Calls, callOperation, type PageQuery } from '../../client/calls.ts';
import type { BulkCancelBody, BulkRedriveBody } from './messages.ts';

/** Filters and page of a list of dead letters. */
export interface DeadLetterQuery extends PageQuery {
  /** The name of the pipeline. */
  readonly pipeline?: string;
  /** The code of the failure. */
  readonly code?: string;
  /** The call that failed. */
  readonly step?: string;
  /** True: only those that were not re-driven. */
  readonly open?: boolean;
}

/** Operations of `client.deadLetters`. */
export function deadLettersClient(client: Calls) {
  return {
    /** Returns a page of dead letters, newest first. */
    list: (filter: DeadLetterQuery = {}) => callOperation(client, 'GET /v1/dead-letters', filter),
    /** Returns dead letters counted by cause. */
    groups: async (filter: { readonly open?: boolean } = {}) =>
      (await callOperation(client, 'GET /v1/dead-letters/groups', filter)).items,
    /** Returns the dead letter of an execution. */
    read: (execution: string) =>
      callOperation(client, 'GET /v1/dead-letters/:id', { id: execution }),
  };
}

/** Operations of `client.jobs`. */
export function jobsClient(client: Calls) {
  return {
    /** Starts a job that re-drives dead letters. */
    redrive: (body: BulkRedriveBody = {}) => callOperation(client, 'POST /v1/jobs/redrive', body),
    /** Starts a job that cancels open executions. */
    cancel: (body: BulkCancelBody) => callOperation(client, 'POST /v1/jobs/cancel', body),
    /** Returns a page of jobs. */
    list: (page: PageQuery = {}) => callOperation(client, 'GET /v1/jobs', page),
    /** Returns a job. */
    read: (id: string) => callOperation(client, 'GET /v1/jobs/:id', { id }),
    /** Returns a page of a job's items with their outcomes. */
    items: (id: string, page: PageQuery = {}) =>
      callOperation(client, 'GET /v1/jobs/:id/items', { ...page, id }),
    /** Pauses a job. */
    pause: (id: string, reason?: string) =>
      callOperation(client, 'POST /v1/jobs/:id/pause', { id, reason }),
    /** Resumes a job. */
    resume: (id: string, reason?: string) =>
      callOperation(client, 'POST /v1/jobs/:id/resume', { id, reason }),
    /** Stops a job. Items that are done stay done. */
    stop: (id: string, reason?: string) =>
      callOperation(client, 'POST /v1/jobs/:id/stop', { id, reason }),
  };
}
