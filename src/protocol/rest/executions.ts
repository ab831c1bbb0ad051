// Submitting executions and looking at them.

import { Type } from 'typebox';
import type { SubmitOptions } from '../../engine/submission.ts';
import type { HistoryEvent } from '../../execution/history.ts';
import { formatInstant } from '../../support/clock.ts';
import { bodyChars, openedWithin, readWithin } from '../../support/page-size.ts';
import {
  attachmentPage,
  execution,
  executionInFull as executionInFullSchema,
  executionPage,
  explanation,
  historyPage,
  historyQuery,
  idParams,
  listQuery,
  type SubmitBody,
  submitBody,
  submitted,
} from '../messages/execution.ts';
import { CLOSED, executionId, name } from '../messages/words.ts';
import { executionInFull, historyMessage, listedMessages } from './execution-message.ts';
import { executionFor, listOptionsOf, requireOpenName, withEtag } from './handling.ts';
import { notFound } from './problems.ts';
import { actingFor, type Call, type Caller, ProblemReply, type Route, route } from './route.ts';

const submit = route({
  method: 'POST',
  path: '/v1/executions',
  name: 'submitExecution',
  summary: 'Submits an execution; done when it is answered, whatever happens afterwards.',
  allows: ['submit'],
  body: submitBody,
  takesValues: true,
  answers: {
    202: { what: 'It will run.', schema: submitted },
    409: { what: 'The key was used with another intent.' },
  },
  async handle({ holdfast, announced }, { body, caller, header }) {
    const { target, input, options } = submissionOf(body, caller, header);
    const { id, existing } = await holdfast.submit(target, input, options);
    const pipeline = body.pipeline ?? (await holdfast.read(id))?.pipeline;
    const warning = pipeline && (await announced.warningFor(caller.project, pipeline));
    const submission = { id, existing, ...(warning && { warning }) };
    return { status: 202, body: submission, headers: { location: `/v1/executions/${id}` } };
  },
});

const list = route({
  method: 'GET',
  path: '/v1/executions',
  name: 'listExecutions',
  summary: 'Executions, newest first.',
  allows: ['submit', 'operate'],
  query: listQuery,
  answers: { 200: { what: 'A page.', schema: executionPage } },
  async handle({ holdfast, store }, { query, caller, header }) {
    const { items, cursor } = await holdfast.list(listOptionsOf(query, caller));
    const body = { items: await listedMessages(store, items), ...(cursor && { cursor }) };
    return withEtag(body, header('if-none-match'));
  },
});

const read = route({
  method: 'GET',
  path: '/v1/executions/:id',
  name: 'readExecution',
  summary: 'One execution, with its input and progress.',
  allows: ['submit', 'operate'],
  params: idParams,
  answers: {
    200: { what: 'As it is now.', schema: executionInFullSchema },
    410: { what: 'It was archived: look there.' },
  },
  async handle(coordinator, { params, caller, header }) {
    const record = await executionFor(coordinator, caller, params.id);
    const body = await executionInFull(coordinator.holdfast, record);
    return withEtag(body, header('if-none-match'));
  },
});

const history = route({
  method: 'GET',
  path: '/v1/executions/:id/history',
  name: 'readHistory',
  summary: 'What happened, in order; goes on after `after`.',
  allows: ['submit', 'operate'],
  params: idParams,
  query: historyQuery,
  answers: {
    200: { what: 'A page of events; `more` when it ended early.', schema: historyPage },
  },
  async handle(coordinator, { params, query, caller, header }) {
    const { id, project } = await executionFor(coordinator, caller, params.id);
    const { holdfast } = coordinator;
    const { after = 0, limit = 100 } = query;
    const reader = { holdfast, project };
    const read = (part: HistoryPart): Promise<readonly HistoryEvent[]> =>
      holdfast.history(id, part);
    const events = await readWithin({ after, limit }, read, {
      placeOf: ({ seq }) => seq,
      charsOf: bodyChars,
    });
    // Values that are kept apart count, too.
    const { items, isCut } = await openedWithin(events.items, (each) =>
      historyMessage(reader, each),
    );
    const more = isCut || events.isCut;
    return withEtag({ items, ...(more && { more }) }, header('if-none-match'));
  },
});

interface HistoryPart {
  readonly after: number;
  readonly limit: number;
}

const explain = route({
  method: 'GET',
  path: '/v1/executions/:id/explain',
  name: 'explainExecution',
  summary: 'Why it is not moving, and what can be done.',
  allows: ['submit', 'operate'],
  params: idParams,
  answers: { 200: { what: 'In words.', schema: explanation } },
  async handle(coordinator, { params, caller }) {
    const { id } = await executionFor(coordinator, caller, params.id);
    const found = await coordinator.holdfast.explain(id);
    if (found === undefined) throw notFound(`execution ${id}`);
    const { until, storeProblem, ...said } = found;
    const body = {
      ...said,
      ...(until === undefined ? {} : { until: formatInstant(until) }),
      ...(caller.isOfAll && storeProblem ? { storeProblem } : {}),
    };
    return { status: 200, body };
  },
});

const children = route({
  method: 'GET',
  path: '/v1/executions/:id/children',
  name: 'listChildren',
  summary: 'What it spawned, oldest first; goes on after `after`.',
  allows: ['submit', 'operate'],
  params: idParams,
  query: Type.Object({ after: Type.Optional(executionId) }, CLOSED),
  answers: {
    200: {
      what: 'A page of at most 1,000.',
      schema: Type.Object({
        items: Type.Array(Type.Pick(execution, ['id', 'pipeline', 'status'])),
      }),
    },
  },
  async handle(coordinator, { params, query, caller }) {
    const { id } = await executionFor(coordinator, caller, params.id);
    const { after } = query;
    const items = await coordinator.store.executions.children({
      parent: id,
      limit: 1_000,
      ...(after === undefined ? {} : { after: after as typeof id }),
    });
    return { status: 200, body: { items } };
  },
});

const attachments = route({
  method: 'GET',
  path: '/v1/executions/:id/attachments',
  name: 'listAttachments',
  summary: 'The documents of an execution.',
  allows: ['submit', 'operate'],
  params: idParams,
  answers: { 200: { what: 'All of them, without their content.', schema: attachmentPage } },
  async handle(coordinator, { params, caller }) {
    const { id } = await executionFor(coordinator, caller, params.id);
    const found = await coordinator.holdfast.attachments(id);
    return {
      status: 200,
      body: { items: found.map((each) => ({ ...each, at: formatInstant(each.at) })) },
    };
  },
});

const attachment = route({
  method: 'GET',
  path: '/v1/executions/:id/attachments/:name',
  name: 'readAttachment',
  summary: 'The content of one document, as a download.',
  allows: ['submit', 'operate'],
  params: Type.Object({ id: executionId, name }, CLOSED),
  answers: { 200: { what: 'Its bytes.' } },
  async handle(coordinator, { params, caller }) {
    const { id } = await executionFor(coordinator, caller, params.id);
    const bytes = await coordinator.holdfast.attachment(id, params.name);
    if (bytes === undefined) throw notFound(`attachment ${JSON.stringify(params.name)}`);
    // What it says of its own type is its author's word: a browser must not act on it.
    const headers = { 'content-disposition': 'attachment', 'x-content-type-options': 'nosniff' };
    return { status: 200, raw: { type: 'application/octet-stream', bytes }, headers };
  },
});

export const executionRoutes: readonly Route[] = [
  submit,
  list,
  read,
  history,
  explain,
  children,
  attachments,
  attachment,
];

// What a submit message asks for, as the engine takes it.

interface Asked {
  readonly target: string | { readonly template: string; readonly version?: number };
  readonly input: unknown;
  readonly options: SubmitOptions;
}

/** The key of the body, or the header that clients send for any POST that may be repeated. */
const KEY_HEADER = 'idempotency-key';

export function submissionOf(
  body: SubmitBody,
  caller: Caller,
  header: Call<never, never, never>['header'],
): Asked {
  const { pipeline, template, input, ...options } = body;
  if ((pipeline === undefined) === (template === undefined)) {
    throw new ProblemReply(400, 'invalid-input', 'Say one of pipeline and template.');
  }
  if (pipeline !== undefined) requireOpenName('A pipeline', pipeline);
  const key = options.key ?? header(KEY_HEADER);
  const traceparent = traceOf(header('traceparent'));
  return {
    target:
      template === undefined
        ? (pipeline ?? '')
        : {
            template: template.id,
            ...(template.version === undefined ? {} : { version: template.version }),
          },
    input,
    options: {
      ...options,
      ...actingFor(caller),
      ...(key === undefined ? {} : { key }),
      ...(traceparent === undefined ? {} : { traceparent }),
    },
  };
}

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.{0,64})?$/;

/** What is none is left out, as W3C Trace Context asks: it is no reason to refuse what was asked for. */
function traceOf(text: string | undefined): string | undefined {
  return text !== undefined && TRACEPARENT.test(text) ? text : undefined;
}
