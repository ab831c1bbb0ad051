// The worker protocol over HTTP: a route for each of its messages.

import { announceBody } from '../../features/releases/messages.ts';
import { idParams } from '../messages/execution.ts';
import {
  bellQuery,
  claimBody,
  claimsQuery,
  digestParams,
  endSessionBody,
  greetQuery,
  heartbeatBody,
  inboxQuery,
  interactionParams,
  openSessionBody,
  sessionParams,
  writesBody,
} from '../messages/work.ts';
import { type WorkKind, workMessage } from '../messages/work-messages.ts';
import { WORK_REPLIES } from '../messages/work-replies.ts';
import type { Call, Coordinator, Reply, Route } from './route.ts';
import { type WorkAnswer, workAnswers } from './work-answers.ts';

type Spec = Pick<Route, 'summary' | 'params' | 'query' | 'body' | 'takesValues'> &
  Partial<Pick<Route, 'answers'>>;

function over(name: WorkKind, spec: Spec): Route {
  const { method, path, isLong = false, bytes } = workMessage(name);
  return {
    ...{ method, path, name, allows: ['work'], answers: answersOf(name) },
    ...spec,
    ...(isLong ? { isLong } : {}),
    ...(bytes === 'sent' ? { takesBytes: true } : {}),
    async handle(coordinator, call) {
      const answer = await answerTo(name, coordinator, call);
      return { ...replyWith(answer), isIdle: IDLE[name]?.(answer as never) ?? false };
    },
  };
}

function answersOf(name: WorkKind): Route['answers'] {
  const schema = WORK_REPLIES[name];
  return { 200: { what: 'What the store answered, refusals too.', ...(schema && { schema }) } };
}

/** What a worker without work sends all the time. */
const IDLE: Readonly<Partial<Record<WorkKind, (answer: never) => boolean>>> = {
  heartbeat: ({ kind }: { readonly kind: string }) => kind !== 'refused',
  announceWorker: ({ kind }: { readonly kind: string }) => kind !== 'refused',
  waitForBell: ({ rang }: { readonly rang: boolean }) => !rang,
  claimExecutions: ({ claims = [] }: { readonly claims?: readonly unknown[] }) =>
    claims.length === 0,
};

function answerTo(
  name: WorkKind,
  coordinator: Coordinator,
  { params, query, body, caller, signal }: Call<object, object, unknown>,
): Promise<WorkAnswer> {
  const handle = workAnswers[name] as (
    coordinator: Coordinator,
    call: object,
  ) => Promise<WorkAnswer>;
  const isBytes = body instanceof Uint8Array;
  const said = { ...params, ...query, ...(isBytes ? {} : (body as object | undefined)) };
  return handle(coordinator, { body: said, caller, signal, ...(isBytes ? { bytes: body } : {}) });
}

function replyWith(answer: WorkAnswer): Reply {
  if (answer === undefined) return { status: 204 };
  if (!(answer instanceof Uint8Array)) return { status: 200, body: answer };
  return { status: 200, raw: { type: 'application/octet-stream', bytes: answer } };
}

export const workRoutes: readonly Route[] = [
  over('greet', {
    summary: 'What a worker must know of this coordinator before it opens its session.',
    query: greetQuery,
  }),
  over('openSession', {
    summary: 'A worker process begins: one session, one heartbeat for all that it claims.',
    body: openSessionBody,
  }),
  over('heartbeat', {
    summary: 'The worker lives. Refused and without effect when it comes too late.',
    params: sessionParams,
    body: heartbeatBody,
  }),
  over('endSession', {
    summary: 'The worker leaves; what it still had is claimed by others at once.',
    params: sessionParams,
    body: endSessionBody,
  }),
  over('waitForBell', {
    summary:
      'Answered when something may have become ready, or after `waitMs`. A hint: claim, then ask again.',
    query: bellQuery,
  }),
  over('claimExecutions', {
    summary: 'Takes what is ready for these pipelines, each under a fence of its own.',
    body: claimBody,
  }),
  over('announceWorker', {
    summary: 'What a worker has and that it takes work, said by the loop that takes it.',
    body: announceBody,
  }),
  over('listClaims', {
    summary:
      'What a session carries, by fence, after `after`: for a worker that has lost the answer to a claim.',
    params: sessionParams,
    query: claimsQuery,
  }),
  over('writeAsOwner', {
    summary: 'What owners record, finish, park and give back: each for itself, under its fence.',
    body: writesBody,
    takesValues: true,
  }),
  over('readInbox', {
    summary: 'Messages for an execution, after `after`.',
    params: idParams,
    query: inboxQuery,
  }),
  over('readStoredHistory', {
    summary: 'What happened to an execution, as it is stored, after `after`.',
    params: idParams,
    query: inboxQuery,
  }),
  over('readStoredExecution', {
    summary:
      'What became of an execution: its status and newest fence decide what became of a claim.',
    params: idParams,
  }),
  over('readStoredAwait', {
    summary: 'An await of an execution, as it is stored.',
    params: interactionParams,
  }),
  over('expireAwaits', {
    summary: 'Settles awaits of an execution that have passed their time.',
    params: idParams,
  }),
  over('putBlob', {
    summary: 'A value that is too large for a row, under its digest; before anything refers to it.',
    params: digestParams,
    answers: { 204: { what: 'It is stored.' } },
  }),
  over('getBlob', {
    summary: 'A large value, by its digest, which nobody knows who has not seen it.',
    params: digestParams,
    answers: { 200: { what: 'Its bytes.' } },
  }),
];
