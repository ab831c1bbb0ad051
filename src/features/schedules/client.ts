// The client's methods for schedules.

import { type Calls, callOperation, type PageQuery, withTags } from '../../client/calls.ts';
import type { ScheduleBody, TriggerBody } from './messages.ts';

/** Operations of `client.schedules`. */
export function schedulesClient(client: Calls) {
  return {
    /** Creates or changes a schedule. */
    put(id: string, body: ScheduleBody) {
      const sent = withTags(`The input of schedule "${id}"`, body, 'input');
      return callOperation(client, 'PUT /v1/schedules/:id', { ...sent, id });
    },
    /** Returns a schedule. */
    read: (id: string) => callOperation(client, 'GET /v1/schedules/:id', { id }),
    /** Returns a page of schedules by id. */
    list: (page: PageQuery = {}) => callOperation(client, 'GET /v1/schedules', page),
    /** Pauses a schedule. */
    pause: (id: string) => callOperation(client, 'POST /v1/schedules/:id/pause', { id }),
    /** Resumes a schedule with its next time from now. */
    resume: (id: string) => callOperation(client, 'POST /v1/schedules/:id/resume', { id }),
    /** Submits an execution of the schedule now. */
    trigger: (id: string, body: TriggerBody = {}) =>
      callOperation(client, 'POST /v1/schedules/:id/trigger', { ...body, id }),
    /** Submits past times that have no execution. */
    backfill: (id: string, range: { readonly from: string; readonly to: string }) =>
      callOperation(client, 'POST /v1/schedules/:id/backfill', { ...range, id }),
    /** Removes a schedule. Executions that it has submitted continue. */
    remove: (id: string) => callOperation(client, 'DELETE /v1/schedules/:id', { id }),
  };
}
