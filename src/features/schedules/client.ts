// The client's methods for schedules.

import { type Calls, callOperation, type PageQuery, withTags } from '../../client/calls.ts';
import type { ScheduleBody } from './messages.ts';

export function schedulesClient(client: Calls) {
  return {
    /** Creates the schedule, or replaces it. */
    put(id: string, body: ScheduleBody) {
      const sent = withTags(`The input of schedule "${id}"`, body, 'input');
      return callOperation(client, 'PUT /v1/schedules/:id', { ...sent, id });
    },
    read: (id: string) => callOperation(client, 'GET /v1/schedules/:id', { id }),
    list: (page: PageQuery = {}) => callOperation(client, 'GET /v1/schedules', page),
    pause: (id: string) => callOperation(client, 'POST /v1/schedules/:id/pause', { id }),
    resume: (id: string) => callOperation(client, 'POST /v1/schedules/:id/resume', { id }),
    remove: (id: string) => callOperation(client, 'DELETE /v1/schedules/:id', { id }),
  };
}
