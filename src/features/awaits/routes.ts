// What executions ask, and the answers.

import type { Holdfast } from '../../engine/holdfast.ts';
import type { InteractionId } from '../../execution/names.ts';
import { type Reader, readable } from '../../protocol/rest/execution-message.ts';
import { withEtag } from '../../protocol/rest/handling.ts';
import { notFound, refused } from '../../protocol/rest/problems.ts';
import {
  actingFor,
  type Caller,
  type Coordinator,
  type Reply,
  type Route,
  route,
} from '../../protocol/rest/route.ts';
import { formatInstant } from '../../support/clock.ts';
import { boundedText } from '../../support/options.ts';
import { openedWithin } from '../../support/page-size.ts';
import { answerSchemaOf } from './answer-schema-routes.ts';
import type { Answered } from './api.ts';
import {
  answerBody,
  answered,
  assignBody,
  done,
  extendBody,
  type InteractionMessage,
  interaction,
  interactionPage,
  interactionParams,
  interactionQuery,
  placeAnswerBody,
  placeParams,
} from './messages.ts';
import type { Answer, AwaitUnit } from './model.ts';
import type { AwaitAnswer, InteractionFound } from './port.ts';

const READERS = ['submit', 'operate'] as const;
/** Not whoever submits: nobody approves what it asked for itself. */
const ANSWERERS = ['operate'] as const;
const ANSWERS = {
  200: {
    what: 'It won, or the same was there, or it is kept until it is asked.',
    schema: answered,
  },
  409: { what: 'Somebody else was first, or it is too late.' },
  503: { what: 'No worker could check it.' },
} as const;
const DONE = { 200: { what: 'Done.', schema: done }, 409: { what: 'It has settled.' } } as const;

const PAGE = 100;

const list = route({
  method: 'GET',
  path: '/v1/awaits',
  name: 'listAwaits',
  summary: 'What can be answered, of the newest executions first.',
  allows: READERS,
  query: interactionQuery,
  answers: { 200: { what: 'A page.', schema: interactionPage } },
  async handle({ store, holdfast }, { query, caller, header }) {
    const { cursor, name, assignee, limit = PAGE, open = true, ...rest } = query;
    const found = await store.executions.interactions({
      ...(rest as { readonly execution?: InteractionFound['interaction']['execution'] }),
      project: caller.project,
      open,
      limit,
      ...(name === undefined ? {} : { name: boundedText('name', name, 256) }),
      ...(assignee === undefined ? {} : { assignee: boundedText('assignee', assignee, 256) }),
      ...(cursor === undefined ? {} : { before: cursor as InteractionId }),
    });
    const { items, isCut } = await openedWithin(found, (each) =>
      interactionMessage(holdfast, each),
    );
    const last = isCut || found.length === limit ? items.at(-1) : undefined;
    const body = { items, ...(last === undefined ? {} : { cursor: last.id }) };
    return withEtag(body, header('if-none-match'));
  },
});

const read = route({
  method: 'GET',
  path: '/v1/awaits/:id',
  name: 'readAwait',
  summary: 'One interaction: what is asked, of whom, until when, and its answer.',
  allows: READERS,
  params: interactionParams,
  answers: { 200: { what: 'As it is now.', schema: interaction } },
  async handle(coordinator, { params, caller, header }) {
    const found = await interactionFor(coordinator, caller, params.id);
    const { interaction: asked, unit } = found;
    const schema = unit?.checked === true ? await answerSchemaOf(coordinator, asked) : {};
    const body = { ...(await interactionMessage(coordinator.holdfast, found)), ...schema };
    return withEtag(body, header('if-none-match'));
  },
});

const answerOne = route({
  method: 'POST',
  path: '/v1/awaits/:id/answer',
  name: 'answerAwait',
  summary: 'Answers it. The first answer wins; the same again is fine.',
  allows: ANSWERERS,
  params: interactionParams,
  body: answerBody,
  takesValues: true,
  answers: ANSWERS,
  async handle({ holdfast }, { params, body, caller }) {
    return answeredReply(await holdfast.awaits.answer(params.id, body.value, actingFor(caller)));
  },
});

const answerPlace = route({
  method: 'POST',
  path: '/v1/executions/:id/awaits/:name/answer',
  name: 'answerPlace',
  summary: 'As answerAwait, by where it stands: also before it is asked.',
  allows: ANSWERERS,
  params: placeParams,
  body: placeAnswerBody,
  takesValues: true,
  answers: ANSWERS,
  async handle({ holdfast }, { params, body, caller }) {
    const { value, ...place } = body;
    const target = { execution: params.id, name: params.name, ...place };
    return answeredReply(await holdfast.awaits.answer(target, value, actingFor(caller)));
  },
});

const extend = route({
  method: 'POST',
  path: '/v1/awaits/:id/extend',
  name: 'extendAwait',
  summary: 'Gives it another time.',
  allows: ['operate'],
  params: interactionParams,
  body: extendBody,
  answers: DONE,
  async handle({ holdfast }, { params, body, caller }) {
    const timeoutMs = body.timeoutMs ?? 'none';
    const acting = actingFor(caller);
    return doneReply(await holdfast.awaits.extend(params.id, { ...acting, timeoutMs }));
  },
});

const assign = route({
  method: 'POST',
  path: '/v1/awaits/:id/assign',
  name: 'assignAwait',
  summary: 'Says who is to answer it.',
  allows: ['operate'],
  params: interactionParams,
  body: assignBody,
  answers: DONE,
  async handle({ holdfast }, { params, body, caller }) {
    const assignee = body.assignee ?? undefined;
    return doneReply(await holdfast.awaits.assign(params.id, assignee, actingFor(caller)));
  },
});

const cancel = route({
  method: 'POST',
  path: '/v1/awaits/:id/cancel',
  name: 'cancelAwait',
  summary: 'Nobody will answer it: the code is told so, and goes on.',
  allows: ['operate'],
  params: interactionParams,
  answers: DONE,
  async handle({ holdfast }, { params, caller }) {
    return doneReply(await holdfast.awaits.cancel(params.id, actingFor(caller)));
  },
});

async function interactionFor(
  { store }: Coordinator,
  { project }: Pick<Caller, 'project'>,
  id: string,
): Promise<InteractionFound> {
  const found = await store.executions.interaction({ project, id: id as InteractionId });
  if (found === undefined) throw notFound(`await with interaction ${id}`);
  return found;
}

export function answeredReply(answer: Answered): Reply {
  if (answer.kind === 'refused') throw refused(answer);
  return { status: 200, body: { kind: answer.kind, settled: answer.settled } };
}

function doneReply(answer: AwaitAnswer): Reply {
  if (answer.kind === 'refused') throw refused(answer);
  return { status: 200, body: { kind: answer.kind } };
}

export const awaitRoutes: readonly Route[] = [
  list,
  read,
  answerOne,
  answerPlace,
  extend,
  assign,
  cancel,
];

// Interactions → messages. What only the store needs (digests, reminders, who signed) is not shown.

export async function interactionMessage(
  holdfast: Holdfast,
  { interaction, unit }: InteractionFound,
): Promise<InteractionMessage> {
  const { id, execution, call, item, status, request, assignee, answer, late } = interaction;
  const reader = { holdfast, project: interaction.project };
  return {
    ...{ id, execution, call, item, status, late },
    ...(request === undefined ? {} : await readable(reader, { request })),
    ...(assignee === undefined ? {} : { assignee }),
    ...(answer === undefined ? {} : { answer: await answerMessage(reader, answer) }),
    ...(unit === undefined ? {} : { unit: unitMessage(unit) }),
  };
}

async function answerMessage(
  reader: Reader,
  { value, by, at }: Answer,
): Promise<NonNullable<InteractionMessage['answer']>> {
  return {
    ...(await readable(reader, { value })),
    ...(by === undefined ? {} : { by }),
    at: formatInstant(at),
  };
}

function unitMessage(unit: AwaitUnit): NonNullable<InteractionMessage['unit']> {
  const { name, pipeline, status, items, needed, answered, signed, checked } = unit;
  const { dueAt, settledAt } = unit;
  return {
    ...{ name, pipeline, status, items, needed, answered, signed, checked },
    openedAt: formatInstant(unit.openedAt),
    ...(dueAt === undefined ? {} : { dueAt: formatInstant(dueAt) }),
    ...(settledAt === undefined ? {} : { settledAt: formatInstant(settledAt) }),
  };
}
