// Projects and access keys, as admins see them.

import { type Static, Type } from 'typebox';
import { ADMIN, type Operations } from '../../protocol/messages/operation.ts';
import {
  closed,
  durationMs,
  instant,
  name,
  pageOf,
  paging,
} from '../../protocol/messages/words.ts';
import { KEEP_NAMES, type KeepMs } from '../retention/model.ts';
import { QUOTA_NAMES, QUOTAS, type Quotas, ROLES } from './model.ts';

/** Restricted, because headers and paths contain it. */
const projectName = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$' });
const keyId = Type.String({ pattern: '^[a-z2-7]{16}$' });

const keepMs = Type.Unsafe<KeepMs>(
  closed(
    Object.fromEntries(
      KEEP_NAMES.map((name) => [name, Type.Optional(Type.Union([durationMs, Type.Null()]))]),
    ),
    {
      description:
        'How long the ended are kept, by how they ended, and while their dead letter is open; null: for ever. Where nothing is said, as the coordinator was told.',
    },
  ),
);

const quotas = Type.Unsafe<Partial<Quotas>>(
  closed(
    Object.fromEntries(
      QUOTA_NAMES.map((name) => [
        name,
        Type.Optional(Type.Integer({ minimum: 0, maximum: QUOTAS[name].max })),
      ]),
    ),
    {
      description:
        'How much the project may have, where that differs from the quotas of the coordinator.',
    },
  ),
);

const projectBody = closed({
  title: Type.Optional(name),
  keepMs: Type.Optional(keepMs),
  quotas: Type.Optional(quotas),
});

export type ProjectBody = Static<typeof projectBody>;

const projectParams = closed({ name: projectName });

export const project = closed({
  name: Type.String(),
  createdAt: instant,
  title: Type.Optional(Type.String()),
  keepMs: Type.Optional(keepMs),
  quotas: Type.Optional(quotas),
});

export type ProjectMessage = Static<typeof project>;

const role = Type.Enum([...ROLES]);
const roles = Type.Array(role, { minItems: 1, maxItems: ROLES.length });

const keyBody = closed({
  name,
  roles,
  project: Type.Union([projectName, Type.Null()], { description: 'null: of all projects.' }),
  expiresInMs: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 * 366 * 86_400_000 })),
});

export type KeyBody = Static<typeof keyBody>;

const keyParams = closed({ id: keyId });

const accessKey = closed({
  id: keyId,
  name: Type.String(),
  roles: Type.Array(role),
  project: Type.Union([Type.String(), Type.Null()]),
  createdAt: instant,
  createdBy: Type.Optional(Type.String()),
  expiresAt: Type.Optional(instant),
  endedAt: Type.Optional(instant),
});

export type KeyMessage = Static<typeof accessKey>;

const madeKey = closed({
  id: keyId,
  key: Type.String({ description: 'Shown this once; only its digest is kept.' }),
});

export type MadeKey = Static<typeof madeKey>;

const endKeyBody = closed({
  inMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 366 * 86_400_000, default: 0 })),
  made: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'End the keys that it made too, and those that they made.',
    }),
  ),
});

export type EndKeyBody = Static<typeof endKeyBody>;

const endedKey = closed({
  endedAt: instant,
  changed: Type.Boolean(),
  made: Type.Optional(
    Type.Array(keyId, { description: 'With `made`: the other keys that ended with it.' }),
  ),
});

export type EndedKey = Static<typeof endedKey>;

const rotatedKey = closed({ ...madeKey.properties, oldEndsAt: instant });

export const accessOperations = {
  putProject: {
    at: 'PUT /v1/projects/:name',
    summary: 'Makes a project, or gives it these settings whole: what is left out is taken away.',
    ...ADMIN,
    params: projectParams,
    body: projectBody,
    answers: { 200: { what: 'It is there.', schema: closed({ existing: Type.Boolean() }) } },
  },
  listProjects: {
    at: 'GET /v1/projects',
    summary: 'Projects by name: all of them, or the one that the key is of.',
    ...ADMIN,
    query: closed(paging(name)),
    answers: { 200: { what: 'A page.', schema: pageOf(project) } },
  },
  readProject: {
    at: 'GET /v1/projects/:name',
    summary: 'One project and its settings.',
    ...ADMIN,
    params: projectParams,
    answers: { 200: { what: 'As it is now.', schema: project } },
  },
  makeKey: {
    at: 'POST /v1/keys',
    summary: 'Makes a key. It is shown in this answer, and never again.',
    ...ADMIN,
    body: keyBody,
    answers: { 201: { what: 'The key.', schema: madeKey } },
  },
  listKeys: {
    at: 'GET /v1/keys',
    summary: 'Keys, newest first, without what opens.',
    ...ADMIN,
    query: closed({
      project: Type.Optional(projectName),
      all: Type.Optional(Type.Boolean({ description: 'Ended and expired ones too.' })),
      ...paging(Type.String({ pattern: '^[0-9]{1,15}:[a-z2-7]{16}$' })),
    }),
    answers: { 200: { what: 'A page.', schema: pageOf(accessKey) } },
  },
  readKey: {
    at: 'GET /v1/keys/:id',
    summary: 'One key, without what opens.',
    ...ADMIN,
    params: keyParams,
    answers: { 200: { what: 'As it is now.', schema: accessKey } },
  },
  endKey: {
    at: 'POST /v1/keys/:id/end',
    summary: 'From now, or from then on, it opens nothing. An end is never put off.',
    ...ADMIN,
    params: keyParams,
    body: endKeyBody,
    answers: { 200: { what: 'When it ends.', schema: endedKey } },
  },
  rotateKey: {
    at: 'POST /v1/keys/:id/rotate',
    summary: 'A new key that allows the same; the old one is good for a while yet.',
    ...ADMIN,
    params: keyParams,
    body: closed({
      endsInMs: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: 366 * 86_400_000,
          default: 3_600_000,
          description: 'How long the old one is still good.',
        }),
      ),
    }),
    answers: {
      201: { what: 'The new key, shown this once.', schema: rotatedKey },
      409: { what: 'The old one opens nothing any more.' },
    },
  },
} as const satisfies Operations;
