// Routes for open questions and their answers.

import type { Static } from 'typebox';
import { correlationOf } from '../../engine/ids.ts';
import { parseBody } from '../../execution/history.ts';
import type { InteractionId } from '../../execution/names.ts';
import { describeExecutionRefusal } from '../../execution/refusal.ts';
import { type Reader, readable } from '../../protocol/rest/executions.ts';
import { withEtag, writtenTimes } from '../../protocol/rest/handling.ts';
import { notFound, refusalReply } from '../../protocol/rest/problems.ts';
import {
  type Caller,
  type Coordinator,
  operationFor,
  ProblemReply,
  type Reply,
  type Route,
  routesOf,
} from '../../protocol/rest/route.ts';
import { historyPages } from '../../store/contract/body-pages.ts';
import { formatInstant } from '../../support/clock.ts';
import { boundedText, present } from '../../support/options.ts';
import { openedWithin } from '../../support/page-size.ts';
import { recordOperation } from '../audit/routes.ts';
import { type Answered, cursorAfter, sortedPage } from './api.ts';
import { linkId } from './links-api.ts';
import {
  type answerResult as answerResultSchema,
  awaitOperations,
  type InteractionMessage,
  type link as linkSchema,
} from './messages.ts';
import type { Answer, AwaitUnit, Interaction } from './model.ts';
import type { AwaitResult, InteractionFound } from './port.ts';

const PAGE = 100;

export const awaitRoutes: readonly Route[] = routesOf(awaitOperations, {
  async listAwaits(coordinator, { query, caller, header }) {
    const {
      cursor,
      name,
      assignee,
      sort,
      limit = PAGE,
      queued = false,
      open = true,
      ...rest
    } = query;
    const page = await sortedPage(coordinator.store.executions, {
      ...(rest as { readonly execution?: InteractionFound['interaction']['execution'] }),
      project: caller.project,
      ...(queued ? { queued } : { open }),
      limit,
      ...(name === undefined ? {} : { name: boundedText('name', name, 256) }),
      ...(assignee === undefined ? {} : { assignee: boundedText('assignee', assignee, 256) }),
      ...present({ sort, cursor }),
    });
    const { items, isCut } = await openedWithin(page.items, (each) =>
      interactionMessage(coordinator, each),
    );
    const last = isCut ? page.items[items.length - 1] : undefined;
    const next = last === undefined ? page.cursor : cursorAfter(last, sort);
    const body = { items, ...(next === undefined ? {} : { cursor: next }) };
    return withEtag(body, header('if-none-match'));
  },

  async countAwaits({ holdfast }, { query, caller: { project } }) {
    return { status: 200, body: { ...(await holdfast.awaits.count({ ...query, project })) } };
  },

  async readAwait(coordinator, { params, caller, header }) {
    const found = await interactionFor(coordinator, caller, params.id);
    const { interaction, unit } = found;
    const schema = unit?.checked === true ? await answerSchemaOf(coordinator, interaction) : {};
    const body = { ...(await interactionMessage(coordinator, found)), ...schema };
    return withEtag(body, header('if-none-match'));
  },

  async answerAwait({ holdfast }, { params, body, caller }) {
    return answeredReply(await holdfast.awaits.answer(params.id, body.value, operationFor(caller)));
  },

  async answerAwaits({ holdfast }, { body, caller }) {
    const { ids, value } = body;
    const answers = await holdfast.awaits.answerAll(ids, value, operationFor(caller));
    return { status: 200, body: { items: answers.map(answerResult) } };
  },

  async answerPlace({ holdfast }, { params, body, caller }) {
    const { value, ...place } = body;
    const target = { execution: params.id, name: params.name, ...place };
    return answeredReply(await holdfast.awaits.answer(target, value, operationFor(caller)));
  },

  async extendAwait({ holdfast }, { params, body, caller }) {
    const timeoutMs = body.timeoutMs ?? 'none';
    const operation = operationFor(caller);
    return doneReply(await holdfast.awaits.extend(params.id, { ...operation, timeoutMs }));
  },

  async assignAwait({ holdfast }, { params, body, caller }) {
    const assignee = body.assignee ?? undefined;
    return doneReply(await holdfast.awaits.assign(params.id, assignee, operationFor(caller)));
  },

  async cancelAwait({ holdfast }, { params, caller }) {
    return doneReply(await holdfast.awaits.cancel(params.id, operationFor(caller)));
  },

  async linkAwait(coordinator, { params, body, caller }) {
    requireLinks(coordinator);
    const { project } = caller;
    const { id } = (await interactionFor(coordinator, caller, params.id)).interaction;
    const { expiresInMs } = body;
    const token = coordinator.holdfast.awaits.link(id, { project, expiresInMs });
    await recordOperation(coordinator, caller, {
      ...{ action: 'create-link', target: { kind: 'interaction', id } },
      about: { link: linkId(token), expiresInMs },
    });
    return { status: 200, body: linkMessage(token) };
  },

  async readLink(coordinator, { params }) {
    requireLinks(coordinator);
    const { store, holdfast, shares } = coordinator;
    const read = holdfast.awaits.readLink(params.link);
    if (read.kind === 'refused') throw refusalReply(read);
    const found = await store.executions.interaction({ project: read.project, id: read.id });
    if (found?.unit === undefined) throw refusalReply({ why: 'await-unknown', id: read.id });
    const { status, request, project } = found.interaction;
    const { name, dueAt, checked } = found.unit;
    return {
      status: 200,
      body: {
        status,
        name,
        ...(checked ? await answerSchemaOf(coordinator, found.interaction) : {}),
        ...(request === undefined
          ? {}
          : await readable({ holdfast, shares, project }, { request })),
        ...(dueAt === undefined ? {} : { dueAt: formatInstant(dueAt) }),
      },
      headers: { 'cache-control': 'no-store' },
    };
  },

  async answerByLink(coordinator, { params, body }) {
    requireLinks(coordinator);
    const link = linkId(params.link);
    requireSeldom(coordinator, link);
    const actor = `link ${link}`;
    const { awaits } = coordinator.holdfast;
    return answeredReply(await awaits.answerByLink(params.link, body.value, { actor }));
  },
});

async function interactionFor(
  { store }: Coordinator,
  { project }: Pick<Caller, 'project'>,
  ref: string,
): Promise<InteractionFound> {
  const correlation = correlationOf(ref);
  const id =
    correlation === undefined
      ? (ref as InteractionId)
      : await store.executions.idOfCorrelation({ project, correlation });
  const found = id && (await store.executions.interaction({ project, id }));
  if (found === undefined) throw notFound(`await with interaction ${ref}`);
  return found;
}

export function answeredReply(answer: Answered): Reply {
  if (answer.kind === 'refused') throw refusalReply(answer);
  return { status: 200, body: { kind: answer.kind, settled: answer.settled } };
}

function answerResult(answer: Answered): Static<typeof answerResultSchema> {
  if (answer.kind !== 'refused') return { kind: answer.kind, settled: answer.settled };
  return {
    ...{ kind: answer.kind, settled: false },
    ...{ code: answer.why, detail: describeExecutionRefusal(answer) },
  };
}

function doneReply(answer: AwaitResult): Reply {
  if (answer.kind === 'refused') throw refusalReply(answer);
  return { status: 200, body: { kind: answer.kind } };
}

// Turns interactions into messages. Leaves out fields that only the store needs: digests,
// reminders, signatures.

async function interactionMessage(
  { holdfast, shares }: Coordinator,
  { interaction, unit }: InteractionFound,
): Promise<InteractionMessage> {
  const { id, execution, call, item, status, request, answer, late } = interaction;
  const { assignee, correlation } = interaction;
  const reader = { holdfast, shares, project: interaction.project };
  return {
    ...{ id, execution, call, item, status, late },
    ...(request === undefined ? {} : await readable(reader, { request })),
    ...present({ assignee, correlation }),
    ...(answer === undefined ? {} : { answer: await answerMessage(reader, answer) }),
    ...(unit === undefined ? {} : { unit: unitMessage(unit) }),
  };
}

async function answerMessage(
  reader: Reader,
  { value, actor, at }: Answer,
): Promise<NonNullable<InteractionMessage['answer']>> {
  return {
    ...(await readable(reader, { value })),
    ...(actor === undefined ? {} : { actor }),
    at: formatInstant(at),
  };
}

function unitMessage(unit: AwaitUnit): NonNullable<InteractionMessage['unit']> {
  const { name, pipeline, status, items, needed, answered, signed, checked, concurrency } = unit;
  return {
    ...{ name, pipeline, status, items, needed, answered, signed, checked },
    ...writtenTimes(unit, 'openedAt', 'dueAt', 'settledAt'),
    ...(concurrency === undefined ? {} : { concurrency }),
  };
}

// Signed links: the holder of one may read the question and answer it once, without a key.

function linkMessage(token: string): Static<typeof linkSchema> {
  return { token, path: `/v1/answers/${token}`, page: `/console/answer/${token}` };
}

function requireLinks({ hasLinks }: Coordinator): void {
  if (hasLinks) return;
  throw new ProblemReply(
    'links-off',
    'This coordinator has no keys for answer links. Nothing was done. Set links.signingFile (--links-signing-file), or openServer({ links: { keys, current } }).',
  );
}

/** Each try may cost the project an execution, in which a worker checks the answer. */
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
  const detail = `This link was used ${TRIES_PER_MINUTE} times within a minute. Nothing was changed. Try again in a minute.`;
  const refusal = new ProblemReply('over-rate', detail);
  refusal.retryAfterS = Math.ceil((now.sinceMs + MINUTE_MS - nowMs) / 1_000);
  throw refusal;
}

// The schema of an answer, for a form. The event that opened the await has it.

/** A form is not worth reading a longer history. */
const PAGES_MAX = 50;

async function answerSchemaOf(
  { store }: Coordinator,
  { execution: id, call }: Pick<Interaction, 'execution' | 'call'>,
): Promise<{ readonly answerSchema?: unknown }> {
  let pages = 0;
  for await (const events of historyPages(store.executions, { id })) {
    for (const { kind, body } of events) {
      if (kind !== 'await-opened') continue;
      const opened = parseBody<{ readonly key: string; readonly answerSchema: unknown }>(body);
      if (opened.key !== call) continue;
      const { answerSchema } = opened;
      return answerSchema === undefined ? {} : { answerSchema };
    }
    pages += 1;
    if (pages === PAGES_MAX) break;
  }
  return {};
}
