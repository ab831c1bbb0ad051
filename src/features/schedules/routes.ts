// Routes for schedules.

import { requireOpenName, withEtag } from '../../protocol/rest/handling.ts';
import { refusalReply } from '../../protocol/rest/problems.ts';
import { operationFor, type Reply, type Route, routesOf } from '../../protocol/rest/route.ts';
import { dateFrom, formatInstant } from '../../support/clock.ts';
import { viewOf } from '../../support/value.ts';
import type { ScheduleInfo } from './api.ts';
import { type ScheduleMessage, scheduleOperations } from './messages.ts';
import type { ScheduleResult } from './port.ts';

export const scheduleRoutes: readonly Route[] = routesOf(scheduleOperations, {
  async putSchedule({ holdfast }, { params, body, caller }) {
    if (body.pipeline !== undefined) requireOpenName('A pipeline', body.pipeline);
    const where = { id: params.id, ...operationFor(caller) };
    return {
      status: 200,
      body: scheduleMessage(await holdfast.schedules.put({ ...body, ...where })),
    };
  },

  async readSchedule({ holdfast }, { params, caller, header }) {
    const { id } = params;
    const found = await holdfast.schedules.get(id, { project: caller.project });
    if (found === undefined) throw refusalReply({ why: 'schedule-unknown', id });
    return withEtag(scheduleMessage(found), header('if-none-match'));
  },

  async listSchedules({ holdfast }, { query, caller, header }) {
    const { project } = caller;
    const { items, cursor } = await holdfast.schedules.list({ ...query, project });
    const body = { items: items.map(scheduleMessage), ...(cursor && { cursor }) };
    return withEtag(body, header('if-none-match'));
  },

  async pauseSchedule({ holdfast }, { params, caller }) {
    return changedReply(await holdfast.schedules.pause(params.id, operationFor(caller)));
  },

  async resumeSchedule({ holdfast }, { params, caller }) {
    return changedReply(await holdfast.schedules.resume(params.id, operationFor(caller)));
  },

  async triggerSchedule({ holdfast }, { params, body, caller }) {
    const options = { ...body, ...operationFor(caller) };
    const result = await holdfast.schedules.trigger(params.id, options);
    if (result.kind === 'refused') throw refusalReply(result);
    return { status: 200, body: result };
  },

  async backfillSchedule({ holdfast }, { params, body, caller }) {
    const range = { from: dateFrom(body.from), to: dateFrom(body.to) };
    const result = await holdfast.schedules.backfill(params.id, {
      ...range,
      ...operationFor(caller),
    });
    if (result.kind === 'refused') throw refusalReply(result);
    return { status: 200, body: result };
  },

  async removeSchedule({ holdfast }, { params, caller }) {
    return changedReply(await holdfast.schedules.remove(params.id, operationFor(caller)));
  },
});

function changedReply(result: ScheduleResult): Reply {
  if (result.kind === 'refused') throw refusalReply(result);
  return { status: 200, body: { kind: result.kind } };
}

function scheduleMessage(info: ScheduleInfo): ScheduleMessage {
  const { project: _, createdAt, firedAt, nextTimes, options, ...rest } = info;
  const { tags, ...placing } = options;
  return {
    ...rest,
    input: viewOf(rest.input),
    options: { ...placing, ...(tags === undefined ? {} : { tags: [...tags] }) },
    createdAt: formatInstant(createdAt),
    ...(firedAt === undefined ? {} : { firedAt: formatInstant(firedAt) }),
    nextTimes: nextTimes.map(formatInstant),
  };
}
