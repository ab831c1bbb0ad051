// The client's methods for dead letters and bulk jobs.

import { type Calls, callOperation, type PageQuery } from '../../client/calls.ts';
import type { BulkCancelBody, BulkRedriveBody } from './messages.ts';

export interface DeadLetterQuery extends PageQuery {
  readonly pipeline?: string;
  readonly code?: string;
  readonly step?: string;
  /** Only letters without a re-drive. */
  readonly open?: boolean;
}

export function deadLettersClient(client: Calls) {
  return {
    /** Newest first. */
    list: (filter: DeadLetterQuery = {}) => callOperation(client, 'GET /v1/dead-letters', filter),
    groups: async (filter: { readonly open?: boolean } = {}) =>
      (await callOperation(client, 'GET /v1/dead-letters/groups', filter)).items,
    read: (execution: string) =>
      callOperation(client, 'GET /v1/dead-letters/:id', { id: execution }),
  };
}

export function jobsClient(client: Calls) {
  return {
    redrive: (body: BulkRedriveBody = {}) => callOperation(client, 'POST /v1/jobs/redrive', body),
    cancel: (body: BulkCancelBody) => callOperation(client, 'POST /v1/jobs/cancel', body),
    list: (page: PageQuery = {}) => callOperation(client, 'GET /v1/jobs', page),
    read: (id: string) => callOperation(client, 'GET /v1/jobs/:id', { id }),
    items: (id: string, page: PageQuery = {}) =>
      callOperation(client, 'GET /v1/jobs/:id/items', { ...page, id }),
    pause: (id: string, reason?: string) =>
      callOperation(client, 'POST /v1/jobs/:id/pause', { id, reason }),
    resume: (id: string, reason?: string) =>
      callOperation(client, 'POST /v1/jobs/:id/resume', { id, reason }),
    stop: (id: string, reason?: string) =>
      callOperation(client, 'POST /v1/jobs/:id/stop', { id, reason }),
  };
}
