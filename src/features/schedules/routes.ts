// Schedules: what is submitted by itself.

import { requireOpenName, withEtag } from '../../protocol/rest/handling.ts';
import { refused } from '../../protocol/rest/problems.ts';
import { actingFor, type Reply, type Route, route } from '../../protocol/rest/route.ts';
import { formatInstant } from '../../support/clock.ts';
import { viewOf } from '../../support/value.ts';
import type { ScheduleInfo } from './api.ts';
import {
  changed,
  type ScheduleMessage,
  schedule,
  scheduleBody,
  scheduleListQuery,
  schedulePage,
  scheduleParams,
} from './messages.ts';
import type { ScheduleAnswer } from './port.ts';

const READERS = ['submit', 'operate'] as const;
const CHANGED = { 200: { what: 'Done, or nothing to change.', schema: changed } } as const;

const put = route({
  method: 'PUT',
  path: '/v1/schedules/:id',
  name: 'putSchedule',
  summary: 'Makes it, or changes it to this. What is paused stays paused.',
  allows: ['operate'],
  // It decides what is submitted.
  needs: ['submit'],
  params: scheduleParams,
  body: scheduleBody,
  takesValues: true,
  answers: { 200: { what: 'As it is now.', schema: schedule } },
  async handle({ holdfast }, { params, body, caller }) {
    if (body.pipeline !== undefined) requireOpenName('A pipeline', body.pipeline);
    const where = { id: params.id, ...actingFor(caller) };
    return {
      status: 200,
      body: scheduleMessage(await holdfast.schedules.put({ ...body, ...where })),
    };
  },
});

const read = route({
  method: 'GET',
  path: '/v1/schedules/:id',
  name: 'readSchedule',
  summary: 'A schedule, with its next times.',
  allows: READERS,
  params: scheduleParams,
  answers: { 200: { what: 'As it is now.', schema: schedule } },
  async handle({ holdfast }, { params, caller, header }) {
    const { id } = params;
    const found = await holdfast.schedules.get(id, { project: caller.project });
    if (found === undefined) throw refused({ why: 'schedule-unknown', id });
    return withEtag(scheduleMessage(found), header('if-none-match'));
  },
});

const list = route({
  method: 'GET',
  path: '/v1/schedules',
  name: 'listSchedules',
  summary: 'Schedules by id.',
  allows: READERS,
  query: scheduleListQuery,
  answers: { 200: { what: 'A page.', schema: schedulePage } },
  async handle({ holdfast }, { query, caller, header }) {
    const { project } = caller;
    const { items, cursor } = await holdfast.schedules.list({ ...query, project });
    const body = { items: items.map(scheduleMessage), ...(cursor && { cursor }) };
    return withEtag(body, header('if-none-match'));
  },
});

const pause = route({
  method: 'POST',
  path: '/v1/schedules/:id/pause',
  name: 'pauseSchedule',
  summary: 'No time comes until it is resumed.',
  allows: ['operate'],
  params: scheduleParams,
  answers: CHANGED,
  async handle({ holdfast }, { params, caller }) {
    return changedReply(await holdfast.schedules.pause(params.id, actingFor(caller)));
  },
});

const resume = route({
  method: 'POST',
  path: '/v1/schedules/:id/resume',
  name: 'resumeSchedule',
  summary: 'Goes on with the next time from now.',
  allows: ['operate'],
  params: scheduleParams,
  answers: CHANGED,
  async handle({ holdfast }, { params, caller }) {
    return changedReply(await holdfast.schedules.resume(params.id, actingFor(caller)));
  },
});

const remove = route({
  method: 'DELETE',
  path: '/v1/schedules/:id',
  name: 'removeSchedule',
  summary: 'What it has submitted goes on.',
  allows: ['operate'],
  params: scheduleParams,
  answers: CHANGED,
  async handle({ holdfast }, { params, caller }) {
    return changedReply(await holdfast.schedules.remove(params.id, actingFor(caller)));
  },
});

function changedReply(answer: ScheduleAnswer): Reply {
  if (answer.kind === 'refused') throw refused(answer);
  return { status: 200, body: { kind: answer.kind } };
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

export const scheduleRoutes: readonly Route[] = [put, read, list, pause, resume, remove];
