// Executions that went wrong: their dead letters, driving them again, what is undone of them.

import { parseExecutionId } from '../../execution/names.ts';
import { commandAnswer, idParams } from '../../protocol/messages/execution.ts';
import { commandReply } from '../../protocol/rest/commands.ts';
import { withEtag } from '../../protocol/rest/handling.ts';
import { notFound } from '../../protocol/rest/problems.ts';
import { actingFor, type Route, route } from '../../protocol/rest/route.ts';
import { formatInstant } from '../../support/clock.ts';
import {
  type DeadLetterMessage,
  deadLetter,
  deadLetterGroups,
  deadLetterPage,
  deadLetterQuery,
  groupQuery,
  made,
  redriveBody,
  retryBody,
  skipBody,
} from './messages.ts';
import type { DeadLetterRecord } from './model.ts';

const READERS = ['submit', 'operate'] as const;

const list = route({
  method: 'GET',
  path: '/v1/dead-letters',
  name: 'listDeadLetters',
  summary: 'What ended without having done its work, newest first.',
  allows: READERS,
  query: deadLetterQuery,
  answers: { 200: { what: 'A page.', schema: deadLetterPage } },
  async handle({ holdfast }, { query, caller, header }) {
    const { project } = caller;
    const { items, cursor } = await holdfast.repair.deadLetters({ limit: 100, ...query, project });
    const body = { items: items.map(deadLetterMessage), ...(cursor && { cursor }) };
    return withEtag(body, header('if-none-match'));
  },
});

const groups = route({
  method: 'GET',
  path: '/v1/dead-letters/groups',
  name: 'groupDeadLetters',
  summary: 'Dead letters by cause, the most frequent first.',
  allows: READERS,
  query: groupQuery,
  answers: { 200: { what: 'All groups.', schema: deadLetterGroups } },
  async handle({ holdfast }, { query, caller }) {
    const { project } = caller;
    const found = await holdfast.repair.deadLetterGroups({ ...query, project });
    return {
      status: 200,
      body: { items: found.map((each) => ({ ...each, at: formatInstant(each.at) })) },
    };
  },
});

const read = route({
  method: 'GET',
  path: '/v1/dead-letters/:id',
  name: 'readDeadLetter',
  summary: 'The dead letter of one execution.',
  allows: READERS,
  params: idParams,
  answers: { 200: { what: 'Why it ended so.', schema: deadLetter } },
  async handle({ holdfast }, { params, caller }) {
    const found = await holdfast.repair.deadLetter(parseExecutionId(params.id));
    if (found?.project !== caller.project) throw notFound(`dead letter of ${params.id}`);
    return { status: 200, body: deadLetterMessage(found) };
  },
});

const redrive = route({
  method: 'POST',
  path: '/v1/executions/:id/redrive',
  name: 'redriveExecution',
  summary: 'A new execution that goes on where this one went wrong.',
  allows: ['operate'],
  params: idParams,
  body: redriveBody,
  answers: {
    202: { what: 'It will run.', schema: made },
    409: { what: 'It has not ended, is being driven again, or cannot be.' },
  },
  async handle({ holdfast }, { params, body, caller }) {
    const acting = actingFor(caller);
    const { id } = await holdfast.repair.redrive(params.id, { ...body, ...acting });
    return { status: 202, body: { id }, headers: { location: `/v1/executions/${id}` } };
  },
});

const COMMANDED = {
  200: { what: 'Passed on to its owner, or kept for the next one.', schema: commandAnswer },
  409: { what: 'It has ended.' },
} as const;

const skip = route({
  method: 'POST',
  path: '/v1/executions/:id/skip-compensation',
  name: 'skipCompensation',
  summary: 'A compensation that cannot be done is left out, for a reason.',
  allows: ['operate'],
  params: idParams,
  body: skipBody,
  answers: COMMANDED,
  async handle({ holdfast }, { params, body, caller }) {
    const { step, reason } = body;
    const acting = { ...actingFor(caller), reason };
    return commandReply(await holdfast.repair.skipCompensation(params.id, step, acting));
  },
});

const retry = route({
  method: 'POST',
  path: '/v1/executions/:id/retry-compensation',
  name: 'retryCompensation',
  summary: 'A compensation is tried now, and not when its next attempt is due.',
  allows: ['operate'],
  params: idParams,
  body: retryBody,
  answers: COMMANDED,
  async handle({ holdfast }, { params, body, caller }) {
    const { step, ...given } = body;
    const acting = { ...actingFor(caller), ...given };
    return commandReply(await holdfast.repair.retryCompensation(params.id, step, acting));
  },
});

function deadLetterMessage(record: DeadLetterRecord): DeadLetterMessage {
  const { project: _, at, ...rest } = record;
  return { ...rest, at: formatInstant(at) };
}

export const repairRoutes: readonly Route[] = [list, groups, read, redrive, skip, retry];
