// Signed links: whoever has one may see what is asked, and answer it once, without any key.

import type { Static } from 'typebox';
import { readable } from '../../protocol/rest/execution-message.ts';
import { notFound, refused } from '../../protocol/rest/problems.ts';
import { type Coordinator, ProblemReply, type Route, route } from '../../protocol/rest/route.ts';
import { formatInstant } from '../../support/clock.ts';
import { recordAct } from '../audit/routes.ts';
import { answerSchemaOf } from './answer-schema-routes.ts';
import { linkId } from './links-api.ts';
import {
  answerBody,
  answered,
  interactionParams,
  linkBody,
  linkedInteraction,
  linkParams,
  link as linkSchema,
} from './messages.ts';
import { answeredReply } from './routes.ts';

const make = route({
  method: 'POST',
  path: '/v1/awaits/:id/link',
  name: 'linkAwait',
  summary: 'A link that answers this interaction, once, without any other right.',
  allows: ['operate'],
  params: interactionParams,
  body: linkBody,
  answers: {
    200: { what: 'To be sent to whoever answers.', schema: linkSchema },
    404: { what: 'There is no such await, or this coordinator has no link keys.' },
  },
  async handle(coordinator, { params, body, caller }) {
    requireLinks(coordinator);
    const { store, holdfast } = coordinator;
    const { project } = caller;
    const id = params.id as Parameters<typeof store.executions.interaction>[0]['id'];
    const found = await store.executions.interaction({ project, id });
    if (found === undefined) throw notFound(`await with interaction ${params.id}`);
    const { expiresInMs } = body;
    const token = holdfast.awaits.link(params.id, { project, expiresInMs });
    await recordAct(coordinator, caller, {
      ...{ act: 'make-link', target: { kind: 'interaction', id } },
      about: { link: linkId(token), expiresInMs },
    });
    return { status: 200, body: linkMessage(token) };
  },
});

const show = route({
  method: 'GET',
  path: '/v1/answers/:link',
  name: 'readLink',
  summary: 'What is asked of whoever has this link.',
  allows: 'public',
  params: linkParams,
  answers: {
    200: { what: 'The question.', schema: linkedInteraction },
    403: { what: 'It was not made here.' },
    410: { what: 'It has expired.' },
  },
  async handle(coordinator, { params }) {
    requireLinks(coordinator);
    const { store, holdfast } = coordinator;
    const read = holdfast.awaits.readLink(params.link);
    if (read.kind === 'refused') throw refused(read);
    const found = await store.executions.interaction({ project: read.project, id: read.id });
    if (found?.unit === undefined) throw refused({ why: 'await-unknown', id: read.id });
    const { status, request, project } = found.interaction;
    const { name, dueAt, checked } = found.unit;
    return {
      status: 200,
      body: {
        status,
        name,
        ...(checked ? await answerSchemaOf(coordinator, found.interaction) : {}),
        ...(request === undefined ? {} : await readable({ holdfast, project }, { request })),
        ...(dueAt === undefined ? {} : { dueAt: formatInstant(dueAt) }),
      },
      headers: { 'cache-control': 'no-store' },
    };
  },
});

const answerByLink = route({
  method: 'POST',
  path: '/v1/answers/:link',
  name: 'answerByLink',
  summary: 'Answers what the link is for.',
  allows: 'public',
  params: linkParams,
  body: answerBody,
  answers: {
    200: { what: 'It won, or the same was there.', schema: answered },
    403: { what: 'It was not made here.' },
    409: { what: 'Somebody else was first, or it is too late.' },
    410: { what: 'It has expired.' },
    429: { what: 'This link was tried too often within a minute.' },
  },
  async handle(coordinator, { params, body }) {
    requireLinks(coordinator);
    const link = linkId(params.link);
    requireSeldom(coordinator, link);
    const by = `link ${link}`;
    const { awaits } = coordinator.holdfast;
    return answeredReply(await awaits.answerByLink(params.link, body.value, { by }));
  },
});

function linkMessage(token: string): Static<typeof linkSchema> {
  return { token, path: `/v1/answers/${token}`, page: `/console/answer/${token}` };
}

function requireLinks({ hasLinks }: Coordinator): void {
  if (hasLinks) return;
  throw new ProblemReply(
    404,
    'links-off',
    'This coordinator has no keys for answer links. Set links.signingFile (--links-signing-file), or open it with links: { keys, current }.',
  );
}

/** Each try may be an execution of the project: its worker checks the answer. */
const TRIES_PER_MINUTE = 20;
const MINUTE_MS = 60_000;
const LINKS_MAX = 10_000;
const tried: WeakMap<
  Coordinator,
  Map<string, { readonly sinceMs: number; count: number }>
> = new WeakMap();

function requireSeldom(coordinator: Coordinator, link: string): void {
  const nowMs = coordinator.clock.monotonicMs();
  const links = tried.get(coordinator) ?? new Map();
  tried.set(coordinator, links);
  const last = links.get(link);
  const isSame = last !== undefined && nowMs - last.sinceMs < MINUTE_MS;
  const now = isSame ? last : { sinceMs: nowMs, count: 0 };
  now.count += 1;
  if (!isSame && links.size >= LINKS_MAX) links.clear();
  links.set(link, now);
  if (now.count <= TRIES_PER_MINUTE) return;
  const detail = `This link was tried ${TRIES_PER_MINUTE} times within a minute. Nothing was changed. Try again later.`;
  const refusal = new ProblemReply(429, 'over-rate', detail);
  refusal.retryAfterS = Math.ceil((now.sinceMs + MINUTE_MS - nowMs) / 1_000);
  throw refusal;
}

export const answerLinkRoutes: readonly Route[] = [make, show, answerByLink];
