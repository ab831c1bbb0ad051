// Projects and access keys, as admins see them.

import { type Static, Type } from 'typebox';
import { CLOSED, durationMs, instant, limit, name, pageOf } from '../../protocol/messages/words.ts';
import { KEEP_NAMES, type KeepMs } from '../retention/model.ts';
import { QUOTA_NAMES, QUOTAS, type Quotas, ROLES } from './model.ts';

/** It goes into headers and paths. */
const projectName = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$' });
const keyId = Type.String({ pattern: '^[a-z2-7]{16}$' });

const keepMs = Type.Unsafe<KeepMs>(
  Type.Object(
    Object.fromEntries(
      KEEP_NAMES.map((name) => [name, Type.Optional(Type.Union([durationMs, Type.Null()]))]),
    ),
    {
      ...CLOSED,
      description:
        'How long the ended are kept, by how they ended, and while their dead letter is open; null: for ever. Where nothing is said, as the coordinator was told.',
    },
  ),
);

const quotas = Type.Unsafe<Partial<Quotas>>(
  Type.Object(
    Object.fromEntries(
      QUOTA_NAMES.map((name) => [
        name,
        Type.Optional(Type.Integer({ minimum: 0, maximum: QUOTAS[name].max })),
      ]),
    ),
    {
      ...CLOSED,
      description:
        'How much the project may have, where that differs from the quotas of the coordinator.',
    },
  ),
);

export const projectBody = Type.Object(
  {
    title: Type.Optional(name),
    keepMs: Type.Optional(keepMs),
    quotas: Type.Optional(quotas),
  },
  CLOSED,
);

export type ProjectBody = Static<typeof projectBody>;

export const projectParams = Type.Object({ name: projectName }, CLOSED);

export const project = Type.Object(
  {
    name: Type.String(),
    createdAt: instant,
    title: Type.Optional(Type.String()),
    keepMs: Type.Optional(keepMs),
    quotas: Type.Optional(quotas),
  },
  CLOSED,
);

export type ProjectMessage = Static<typeof project>;

export const projectPut = Type.Object({ existing: Type.Boolean() }, CLOSED);

export const projectPage = pageOf(project);
export const projectQuery = Type.Object(
  { cursor: Type.Optional(name), limit: Type.Optional(limit) },
  CLOSED,
);

const role = Type.Enum([...ROLES]);
const roles = Type.Array(role, { minItems: 1, maxItems: ROLES.length });

export const keyBody = Type.Object(
  {
    name,
    roles,
    project: Type.Union([projectName, Type.Null()], { description: 'null: of all projects.' }),
    expiresInMs: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 * 366 * 86_400_000 })),
  },
  CLOSED,
);

export type KeyBody = Static<typeof keyBody>;

export const keyParams = Type.Object({ id: keyId }, CLOSED);

export const accessKey = Type.Object(
  {
    id: keyId,
    name: Type.String(),
    roles: Type.Array(role),
    project: Type.Union([Type.String(), Type.Null()]),
    createdAt: instant,
    createdBy: Type.Optional(Type.String()),
    expiresAt: Type.Optional(instant),
    endedAt: Type.Optional(instant),
  },
  CLOSED,
);

export type KeyMessage = Static<typeof accessKey>;

export const keyPage = pageOf(accessKey);
export const keyQuery = Type.Object(
  {
    project: Type.Optional(projectName),
    all: Type.Optional(Type.Boolean({ description: 'Ended and expired ones too.' })),
    cursor: Type.Optional(Type.String({ pattern: '^[0-9]{1,15}:[a-z2-7]{16}$' })),
    limit: Type.Optional(limit),
  },
  CLOSED,
);

export const madeKey = Type.Object(
  { id: keyId, key: Type.String({ description: 'Shown this once; only its digest is kept.' }) },
  CLOSED,
);

export type MadeKey = Static<typeof madeKey>;

export const endKeyBody = Type.Object(
  {
    inMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 366 * 86_400_000, default: 0 })),
    made: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'End the keys that it made too, and those that they made.',
      }),
    ),
  },
  CLOSED,
);

export type EndKeyBody = Static<typeof endKeyBody>;

export const endedKey = Type.Object(
  {
    endedAt: instant,
    changed: Type.Boolean(),
    made: Type.Optional(
      Type.Array(keyId, { description: 'With `made`: the other keys that ended with it.' }),
    ),
  },
  CLOSED,
);

export type EndedKey = Static<typeof endedKey>;

export const rotateBody = Type.Object(
  {
    endsInMs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 366 * 86_400_000,
        default: 3_600_000,
        description: 'How long the old one is still good.',
      }),
    ),
  },
  CLOSED,
);

export const rotatedKey = Type.Object({ ...madeKey.properties, oldEndsAt: instant }, CLOSED);

export type RotatedKey = Static<typeof rotatedKey>;
