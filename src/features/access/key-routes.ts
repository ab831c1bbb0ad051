// Access keys. An admin of one project makes, sees and ends keys of that project only.

import { type ProjectName, parseProject } from '../../execution/names.ts';
import {
  actorOf,
  type Caller,
  type Coordinator,
  ProblemReply,
  type Route,
  route,
} from '../../protocol/rest/route.ts';
import { formatInstant } from '../../support/clock.ts';
import { boundedText } from '../../support/options.ts';
import { stampOutside } from '../audit/api.ts';
import {
  accessKey,
  type EndedKey,
  endedKey,
  endKeyBody,
  type KeyMessage,
  keyBody,
  keyPage,
  keyParams,
  keyQuery,
  madeKey,
  rotateBody,
  rotatedKey,
} from './messages.ts';
import { type AccessKey, describeAccessRefusal, newKey, writeKey } from './model.ts';
import type { AddKey, EndKey } from './port.ts';

const ADMIN = { allows: ['admin'], listener: 'admin' } as const;
const LIMIT = 100;
const STATUSES: Readonly<Record<string, number>> = { 'project-unknown': 404, 'over-quota': 429 };
const ROTATION_MS = 3_600_000;

const make = route({
  method: 'POST',
  path: '/v1/keys',
  name: 'makeKey',
  summary: 'Makes a key. It is shown in this answer, and never again.',
  ...ADMIN,
  body: keyBody,
  answers: { 201: { what: 'The key.', schema: madeKey } },
  async handle(coordinator, { body, caller }) {
    const { name, roles, expiresInMs } = body;
    const project = body.project === null ? undefined : parseProject(body.project);
    if (!caller.isOfAll && project !== caller.project) throw ofAnotherProject(caller);
    const made = await added(coordinator, {
      ...{ name: boundedText('name', name, 256), roles, createdBy: actorOf(caller) },
      audit: stampOutside('make-key', { by: actorOf(caller) }),
      ...(project === undefined ? {} : { project }),
      ...(expiresInMs === undefined ? {} : { expiresInMs }),
      ...makerOf(caller),
    });
    return { status: 201, body: made, headers: { 'cache-control': 'no-store' } };
  },
});

const list = route({
  method: 'GET',
  path: '/v1/keys',
  name: 'listKeys',
  summary: 'Keys, newest first, without what opens.',
  ...ADMIN,
  query: keyQuery,
  answers: { 200: { what: 'A page.', schema: keyPage } },
  async handle({ store }, { query, caller }) {
    const { all, cursor, limit = LIMIT } = query;
    const project = caller.isOfAll ? query.project : caller.project;
    if (query.project !== undefined && query.project !== project) throw ofAnotherProject(caller);
    const [createdAt, id = ''] = cursor?.split(':') ?? [];
    const items = await store.access.keys({
      limit,
      ...(all === undefined ? {} : { all }),
      ...(project === undefined ? {} : { project: parseProject(project) }),
      ...(cursor === undefined ? {} : { after: { createdAt: Number(createdAt), id } }),
    });
    const last = items.length < limit ? undefined : items.at(-1);
    const next = last === undefined ? {} : { cursor: `${last.createdAt}:${last.id}` };
    return { status: 200, body: { items: items.map(keyMessage), ...next } };
  },
});

const read = route({
  method: 'GET',
  path: '/v1/keys/:id',
  name: 'readKey',
  summary: 'One key, without what opens.',
  ...ADMIN,
  params: keyParams,
  answers: { 200: { what: 'As it is now.', schema: accessKey } },
  async handle(coordinator, { params, caller }) {
    return { status: 200, body: keyMessage(await keyFor(coordinator, caller, params.id)) };
  },
});

const end = route({
  method: 'POST',
  path: '/v1/keys/:id/end',
  name: 'endKey',
  summary: 'From now, or from then on, it opens nothing. An end is never put off.',
  ...ADMIN,
  params: keyParams,
  body: endKeyBody,
  answers: { 200: { what: 'When it ends.', schema: endedKey } },
  async handle(coordinator, { params, body, caller }) {
    const answer = await endedBy(coordinator, caller, { inMs: 0, ...body, id: params.id });
    return { status: 200, body: answer };
  },
});

const rotate = route({
  method: 'POST',
  path: '/v1/keys/:id/rotate',
  name: 'rotateKey',
  summary: 'A new key that allows the same; the old one is good for a while yet.',
  ...ADMIN,
  params: keyParams,
  body: rotateBody,
  answers: {
    201: { what: 'The new key, shown this once.', schema: rotatedKey },
    409: { what: 'The old one opens nothing any more.' },
  },
  async handle(coordinator, { params, body, caller }) {
    const old = await keyFor(coordinator, caller, params.id);
    const { name, roles, project, createdAt, expiresAt } = old;
    // In this order: whoever is cut off in between has two keys, not none.
    const made = await added(coordinator, {
      ...{ name, roles, createdBy: actorOf(caller) },
      audit: stampOutside('make-key', { by: actorOf(caller), about: { rotates: old.id } }),
      ...(project === undefined ? {} : { project }),
      ...(expiresAt === undefined ? {} : { expiresInMs: expiresAt - createdAt }),
      ...{ ...makerOf(caller), rotates: old.id },
    });
    const inMs = body.endsInMs ?? ROTATION_MS;
    const { endedAt } = await endedBy(coordinator, caller, { id: old.id, inMs });
    return {
      status: 201,
      body: { ...made, oldEndsAt: endedAt },
      headers: { 'cache-control': 'no-store' },
    };
  },
});

async function added(
  { store }: Coordinator,
  asked: Omit<AddKey, 'id' | 'digest'>,
): Promise<{ readonly id: string; readonly key: string }> {
  const { id, secret, digest } = newKey();
  const answer = await store.access.addKey({ id, digest, ...asked });
  if (answer.kind === 'added') return { id, key: writeKey({ id, secret }) };
  const status = STATUSES[answer.why] ?? 409;
  throw new ProblemReply(status, answer.why, describeAccessRefusal(answer));
}

async function endedBy(
  { store }: Coordinator,
  caller: Caller,
  end: Pick<EndKey, 'id' | 'inMs' | 'made'>,
): Promise<EndedKey> {
  const answer = await store.access.endKey({
    ...{ ...end, ...scopeOf(caller) },
    audit: stampOutside('end-key', { by: actorOf(caller) }),
  });
  if (answer.kind === 'refused') {
    throw new ProblemReply(404, answer.why, describeAccessRefusal(answer));
  }
  const { endedAt, changed, made } = answer;
  return {
    ...{ endedAt: formatInstant(endedAt), changed },
    ...(made === undefined ? {} : { made: [...made] }),
  };
}

async function keyFor({ store }: Coordinator, caller: Caller, id: string): Promise<AccessKey> {
  const found = await store.access.key(id);
  if (found !== undefined && (caller.isOfAll || found.project === caller.project)) return found;
  const why = 'key-unknown';
  throw new ProblemReply(404, why, describeAccessRefusal({ why, id }));
}

function makerOf({ key }: Caller): { readonly madeBy?: string } {
  return key === undefined ? {} : { madeBy: key };
}

function scopeOf({ isOfAll, project }: Caller): { readonly project?: ProjectName } {
  return isOfAll ? {} : { project };
}

function ofAnotherProject({ project }: Caller): ProblemReply {
  return new ProblemReply(
    403,
    'project-denied',
    `This key manages keys of project ${JSON.stringify(project)} only.`,
  );
}

function keyMessage(key: AccessKey): KeyMessage {
  const { id, name, roles, project = null, createdAt, createdBy, expiresAt, endedAt } = key;
  return {
    ...{ id, name, roles: [...roles], project, createdAt: formatInstant(createdAt) },
    ...(createdBy === undefined ? {} : { createdBy }),
    ...(expiresAt === undefined ? {} : { expiresAt: formatInstant(expiresAt) }),
    ...(endedAt === undefined ? {} : { endedAt: formatInstant(endedAt) }),
  };
}

export const keyRoutes: readonly Route[] = [make, list, read, end, rotate];
