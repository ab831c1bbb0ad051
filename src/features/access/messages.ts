// Projects and access keys, as admins see them.

import { type Static, Type } from 'typebox';
import { ADMIN, operationsOf } from '../../protocol/messages/operation.ts';
import {
  closed,
  documented,
  durationMs,
  flag,
  instant,
  integerWithin,
  listOf,
  name,
  optional,
  pageOf,
  paging,
  text,
  textLike,
  titled,
  withExample,
} from '../../protocol/messages/words.ts';
import { KEEP_NAMES, type KeepMs } from '../retention/model.ts';
import { QUOTA_NAMES, QUOTAS, type Quotas, ROLES } from './model.ts';

/** Restricted, because headers and paths contain it. */
const projectName = textLike('^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$', 'Name of a project.', 'shop');
const keyId = textLike(
  '^[a-z2-7]{16}$',
  'Id of an access key: the 16 characters after `hf_`. It is not secret.',
  'a2b3c4d5e6f7a2b3',
);

const keepMs = Type.Unsafe<KeepMs>(
  closed(
    Object.fromEntries(
      KEEP_NAMES.map((name) => [
        name,
        optional(
          Type.Union([durationMs, Type.Null()], {
            description:
              name === 'deadLetter'
                ? 'Milliseconds to keep ended executions while their dead letter is open; null: for ever.'
                : `Milliseconds to keep ${name} executions after their end; null: for ever.`,
          }),
        ),
      ]),
    ),
    {
      title: 'KeepMs',
      description:
        'Retention of ended executions, by how they ended. Where a value is absent, the setting of the coordinator applies.',
      examples: [{ completed: 2_592_000_000, failed: null }],
    },
  ),
);

const quotas = Type.Unsafe<Partial<Quotas>>(
  closed(
    Object.fromEntries(
      QUOTA_NAMES.map((name) => [
        name,
        optional(
          integerWithin(
            0,
            QUOTAS[name].max,
            `Most ${QUOTAS[name].of} of the project. Default: the quota of the coordinator, ${QUOTAS[name].default} unless configured.`,
          ),
        ),
      ]),
    ),
    {
      title: 'Quotas',
      description: 'Limits of the project that differ from the quotas of the coordinator.',
      examples: [{ executions: 50_000 }],
    },
  ),
);

const title = documented(name, 'Name for people.', 'Web shop');

const projectBody = closed(
  { title: optional(title), keepMs: optional(keepMs), quotas: optional(quotas) },
  titled('ProjectBody', { title: 'Web shop', keepMs: { completed: 2_592_000_000 } }),
);

export type ProjectBody = Static<typeof projectBody>;

const projectParams = closed({ name: projectName });

export const project = closed(
  {
    name: text('Name of the project.'),
    createdAt: documented(instant, 'When it was created.'),
    title: optional(text('Name for people.')),
    keepMs: optional(keepMs),
    quotas: optional(quotas),
  },
  titled('Project', { name: 'shop', createdAt: '2026-11-01T10:00:00.000Z', title: 'Web shop' }),
);

export type ProjectMessage = Static<typeof project>;

const role = Type.Enum([...ROLES], {
  title: 'Role',
  description: 'A right of a key. Roles do not inherit from each other.',
});
const roles = Type.Array(role, {
  minItems: 1,
  maxItems: ROLES.length,
  description: 'Roles of the key.',
});

const keyBody = closed(
  {
    name: documented(name, 'Name for people. Audit records show it.', 'shop backend'),
    roles,
    project: Type.Union([projectName, Type.Null()], {
      description: 'The project that the key opens; null: all projects.',
    }),
    expiresInMs: optional(
      integerWithin(
        1,
        100 * 366 * 86_400_000,
        'Lifetime in milliseconds. Default: it does not expire.',
      ),
    ),
  },
  titled('KeyBody', { name: 'shop backend', roles: ['submit'], project: 'shop' }),
);

export type KeyBody = Static<typeof keyBody>;

const keyParams = closed({ id: keyId });

const accessKey = closed(
  {
    id: keyId,
    name: text('Name for people.'),
    roles: listOf(role, 'Roles of the key.'),
    project: Type.Union([Type.String(), Type.Null()], {
      description: 'The project that the key opens; null: all projects.',
    }),
    createdAt: documented(instant, 'When it was created.'),
    createdBy: optional(text('Name and id of the key that created it.')),
    expiresAt: optional(instant, 'When it expires.'),
    revokedAt: optional(instant, 'When it was revoked or replaced, or will be.'),
  },
  titled('AccessKey', {
    id: 'a2b3c4d5e6f7a2b3',
    name: 'shop backend',
    roles: ['submit'],
    project: 'shop',
    createdAt: '2026-11-17T09:30:00.000Z',
    createdBy: 'ann (b3c4d5e6f7a2b3c4)',
  }),
);

export type KeyMessage = Static<typeof accessKey>;

const createdKey = closed({
  id: keyId,
  key: text(
    'The key. The coordinator returns it once and stores only its digest.',
    'hf_a2b3c4d5e6f7a2b3_…',
  ),
});

export type CreatedKey = Static<typeof createdKey>;

const revokeKeyBody = closed(
  {
    inMs: optional(
      Type.Integer({
        minimum: 0,
        maximum: 366 * 86_400_000,
        default: 0,
        description: 'Time until the key stops working, in milliseconds. Default: 0.',
      }),
    ),
    descendants: optional(
      Type.Boolean({
        default: false,
        description: 'Also revoke the keys that this key created, and those that they created.',
      }),
    ),
  },
  withExample({ descendants: true }),
);

export type RevokeKeyBody = Static<typeof revokeKeyBody>;

const revokedKey = closed(
  {
    revokedAt: documented(instant, 'When the key stops working.'),
    changed: flag('False if it was to end by then already.'),
    descendants: optional(listOf(keyId, 'With `descendants`: the other keys that were revoked.')),
  },
  withExample({
    revokedAt: '2026-11-17T09:30:00.000Z',
    changed: true,
    descendants: ['b3c4d5e6f7a2b3c4'],
  }),
);

export type RevokedKey = Static<typeof revokedKey>;

const rotatedKey = closed({
  ...createdKey.properties,
  oldEndsAt: documented(instant, 'When the old key stops working.'),
});

const NO_KEY = {
  404: { what: 'There is no such key, or this caller may not manage it.', codes: ['key-unknown'] },
} as const;

const OTHER_PROJECT = {
  403: {
    what: 'The caller lacks role `admin`, or its key manages another project only.',
    codes: ['role-missing', 'project-denied'],
  },
} as const;

export const accessOperations = operationsOf('Projects and keys', {
  putProject: {
    at: 'PUT /v1/projects/:name',
    summary: 'Create or change a project',
    description:
      'Writes the project with exactly these settings, and an audit record. Settings that you leave out are removed. Repeating it changes nothing. Needs a key for all projects.',
    ...ADMIN,
    params: projectParams,
    body: projectBody,
    responses: {
      200: {
        what: 'The project is stored.',
        schema: closed({ existing: flag('True if the project existed before.') }),
      },
      403: {
        what: 'The caller lacks role `admin`, or its key is not for all projects.',
        codes: ['role-missing', 'project-denied'],
      },
    },
  },
  listProjects: {
    at: 'GET /v1/projects',
    summary: 'List projects',
    description: 'Returns all projects by name. A key for one project sees only that project.',
    ...ADMIN,
    query: closed(paging(name)),
    responses: { 200: { what: 'One page of projects.', schema: pageOf(project) } },
  },
  readProject: {
    at: 'GET /v1/projects/:name',
    summary: 'Read a project',
    description: 'Returns one project with its settings.',
    ...ADMIN,
    params: projectParams,
    responses: { 200: { what: 'The project.', schema: project } },
  },
  createKey: {
    at: 'POST /v1/keys',
    summary: 'Create an access key',
    description:
      'Writes a new key and an audit record. The response shows the key once; store it safely. A key for one project can create keys for that project only. A new key ends no later than the key that creates it. Each request creates another key.',
    ...ADMIN,
    body: keyBody,
    responses: {
      201: { what: 'The new key.', schema: createdKey },
      ...OTHER_PROJECT,
      404: { what: 'The project does not exist.', codes: ['project-unknown'] },
      409: { what: 'The key of the caller has ended. Nothing was written.', codes: ['key-ended'] },
    },
  },
  listKeys: {
    at: 'GET /v1/keys',
    summary: 'List access keys',
    description:
      'Returns keys without their secrets, newest first. A key for one project sees the keys of that project.',
    ...ADMIN,
    query: closed({
      project: optional(projectName, 'Only keys of this project. Default: all.'),
      all: optional(flag('Also list revoked and expired keys. Default: false.', true)),
      ...paging(
        Type.String({
          pattern: '^[0-9]{1,15}:[a-z2-7]{16}$',
          examples: ['1794907800000:a2b3c4d5e6f7a2b3'],
        }),
      ),
    }),
    responses: { 200: { what: 'One page of keys.', schema: pageOf(accessKey) }, ...OTHER_PROJECT },
  },
  readKey: {
    at: 'GET /v1/keys/:id',
    summary: 'Read an access key',
    description: 'Returns one key without its secret.',
    ...ADMIN,
    params: keyParams,
    responses: { 200: { what: 'The key.', schema: accessKey }, ...NO_KEY },
  },
  revokeKey: {
    at: 'POST /v1/keys/:id/revoke',
    summary: 'Revoke an access key',
    description:
      'Ends the key now or after `inMs`, and writes an audit record. Coordinators notice within 5 s. A later request can only bring the end forward. Repeating it changes nothing.',
    ...ADMIN,
    params: keyParams,
    body: revokeKeyBody,
    responses: { 200: { what: 'The key ends at this time.', schema: revokedKey }, ...NO_KEY },
  },
  rotateKey: {
    at: 'POST /v1/keys/:id/rotate',
    summary: 'Rotate an access key',
    description:
      'Creates a key with the same roles, project and lifetime, then ends the old one after `endsInMs`. Writes two audit records. If the request is cut off in between, both keys work. Each request creates another key.',
    ...ADMIN,
    params: keyParams,
    body: closed(
      {
        endsInMs: optional(
          Type.Integer({
            minimum: 0,
            maximum: 366 * 86_400_000,
            default: 3_600_000,
            description: 'How long the old key still works, in milliseconds. Default: one hour.',
          }),
        ),
      },
      withExample({ endsInMs: 3_600_000 }),
    ),
    responses: {
      201: { what: 'The new key.', schema: rotatedKey },
      ...NO_KEY,
      409: {
        what: 'The old key, or the key of the caller, has ended. Nothing was written.',
        codes: ['key-ended'],
      },
    },
  },
});
