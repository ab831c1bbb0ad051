// Routes for projects and access keys. Only an admin for all projects changes projects. An admin of
// one project creates, sees and revokes only that project's keys.

import { type ProjectName, parseProject } from '../../execution/names.ts';
import { writtenTimes } from '../../protocol/rest/handling.ts';
import { requireOfAll, unknownProject } from '../../protocol/rest/problems.ts';
import {
  actorOf,
  type Caller,
  type Coordinator,
  ProblemReply,
  type Route,
  routesOf,
} from '../../protocol/rest/route.ts';
import { formatInstant } from '../../support/clock.ts';
import { boundedText, present } from '../../support/options.ts';
import { stampOutside } from '../audit/api.ts';
import {
  accessOperations,
  type KeyMessage,
  type ProjectMessage,
  type RevokedKey,
} from './messages.ts';
import {
  type AccessKey,
  describeAccessRefusal,
  newKey,
  type Project,
  type ProjectSettings,
  writeKey,
} from './model.ts';
import type { CreateKey, RevokeKey } from './port.ts';

const LIMIT = 100;

export const accessRoutes: readonly Route[] = routesOf(accessOperations, {
  async putProject({ store }, { params, body, caller }) {
    requireOfAll(caller);
    const settings = body as ProjectSettings;
    const { existing } = await store.access.putProject({
      name: parseProject(params.name),
      settings,
      audit: stampOutside('put-project', { actor: actorOf(caller) }),
    });
    return { status: 200, body: { existing } };
  },

  async listProjects({ store }, { query, caller }) {
    if (!caller.isOfAll) {
      const own = await store.access.project(caller.project);
      return { status: 200, body: { items: own === undefined ? [] : [projectMessage(own)] } };
    }
    const { cursor, limit = LIMIT } = query;
    const after = cursor === undefined ? {} : { after: parseProject(cursor) };
    const items = await store.access.projects({ limit, ...after });
    const last = items.length < limit ? undefined : items.at(-1)?.name;
    return {
      status: 200,
      body: { items: items.map(projectMessage), ...(last === undefined ? {} : { cursor: last }) },
    };
  },

  async readProject({ store }, { params, caller }) {
    const name = parseProject(params.name);
    const isOwn = caller.isOfAll || caller.project === name;
    const found = isOwn ? await store.access.project(name) : undefined;
    if (found === undefined) throw unknownProject(params.name);
    return { status: 200, body: projectMessage(found) };
  },

  async createKey(coordinator, { body, caller }) {
    const { name, roles, expiresInMs } = body;
    const project = body.project === null ? undefined : parseProject(body.project);
    if (!caller.isOfAll && project !== caller.project) throw ofAnotherProject(caller);
    const made = await created(coordinator, {
      ...{ name: boundedText('name', name, 256), roles, createdBy: actorOf(caller) },
      audit: stampOutside('create-key', { actor: actorOf(caller) }),
      ...present({ project, expiresInMs }),
      ...creatorOf(caller),
    });
    return { status: 201, body: made, headers: { 'cache-control': 'no-store' } };
  },

  async listKeys({ store }, { query, caller }) {
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

  async readKey(coordinator, { params, caller }) {
    return { status: 200, body: keyMessage(await keyFor(coordinator, caller, params.id)) };
  },

  async revokeKey(coordinator, { params, body, caller }) {
    const result = await revokedBy(coordinator, caller, { inMs: 0, ...body, id: params.id });
    return { status: 200, body: result };
  },

  async rotateKey(coordinator, { params, body, caller }) {
    const old = await keyFor(coordinator, caller, params.id);
    const { name, roles, project, createdAt, expiresAt } = old;
    // Create the new key first: a caller that is cut off in between then has two keys, not none.
    const made = await created(coordinator, {
      ...{ name, roles, createdBy: actorOf(caller) },
      audit: stampOutside('create-key', { actor: actorOf(caller), about: { rotates: old.id } }),
      ...(project === undefined ? {} : { project }),
      ...(expiresAt === undefined ? {} : { expiresInMs: expiresAt - createdAt }),
      ...{ ...creatorOf(caller), rotates: old.id },
    });
    const inMs = body.endsInMs ?? ROTATION_MS;
    const { revokedAt } = await revokedBy(coordinator, caller, { id: old.id, inMs });
    return {
      status: 201,
      body: { ...made, oldEndsAt: revokedAt },
      headers: { 'cache-control': 'no-store' },
    };
  },
});

function projectMessage({ name, createdAt, settings }: Project): ProjectMessage {
  return { name, createdAt: formatInstant(createdAt), ...settings };
}

const ROTATION_MS = 3_600_000;

async function created(
  { store }: Coordinator,
  request: Omit<CreateKey, 'id' | 'digest'>,
): Promise<{ readonly id: string; readonly key: string }> {
  const { id, secret, digest } = newKey();
  const result = await store.access.createKey({ id, digest, ...request });
  if (result.kind === 'created') return { id, key: writeKey({ id, secret }) };
  throw new ProblemReply(result.why, describeAccessRefusal(result));
}

async function revokedBy(
  { store }: Coordinator,
  caller: Caller,
  end: Pick<RevokeKey, 'id' | 'inMs' | 'descendants'>,
): Promise<RevokedKey> {
  const result = await store.access.revokeKey({
    ...{ ...end, ...scopeOf(caller) },
    audit: stampOutside('revoke-key', { actor: actorOf(caller) }),
  });
  if (result.kind === 'refused') {
    throw new ProblemReply(result.why, describeAccessRefusal(result));
  }
  const { revokedAt, changed, descendants } = result;
  return {
    ...{ revokedAt: formatInstant(revokedAt), changed },
    ...(descendants === undefined ? {} : { descendants: [...descendants] }),
  };
}

async function keyFor({ store }: Coordinator, caller: Caller, id: string): Promise<AccessKey> {
  const found = await store.access.key(id);
  if (found !== undefined && (caller.isOfAll || found.project === caller.project)) return found;
  const why = 'key-unknown';
  throw new ProblemReply(why, describeAccessRefusal({ why, id }));
}

function creatorOf({ key }: Caller): { readonly createdByKey?: string } {
  return key === undefined ? {} : { createdByKey: key };
}

function scopeOf({ isOfAll, project }: Caller): { readonly project?: ProjectName } {
  return isOfAll ? {} : { project };
}

function ofAnotherProject({ project }: Caller): ProblemReply {
  return new ProblemReply(
    'project-denied',
    `This key can manage only keys of project ${JSON.stringify(project)}. Nothing was done. Use a key for all projects.`,
  );
}

function keyMessage(key: AccessKey): KeyMessage {
  const { id, name, roles, project = null, createdBy } = key;
  const times = writtenTimes(key, 'createdAt', 'expiresAt', 'revokedAt');
  return { id, name, roles: [...roles], project, ...present({ createdBy }), ...times };
}
