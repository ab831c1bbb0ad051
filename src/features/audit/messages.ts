// What is on record: who did what, and what was refused to workers.

import { type Static, Type } from 'typebox';
import {
  CLOSED,
  count,
  executionId,
  fence,
  instant,
  limit,
  name,
  pageOf,
  REASON_MAX,
} from '../../protocol/messages/words.ts';
import { ACTOR_BYTES_MAX, AUDIT_ACTS, AUDIT_TARGETS, OWNER_VERBS } from './model.ts';

const facts = Type.Record(Type.String(), Type.Unknown());

export const auditRecord = Type.Object(
  {
    id: Type.String(),
    at: instant,
    actor: Type.String(),
    act: Type.Enum([...AUDIT_ACTS]),
    target: Type.Object({ kind: Type.Enum([...AUDIT_TARGETS]), id: Type.String() }, CLOSED),
    reason: Type.String(),
    before: Type.Optional(facts),
    after: Type.Optional(facts),
  },
  CLOSED,
);

export type AuditMessage = Static<typeof auditRecord>;

export const auditPage = pageOf(auditRecord);

export const auditQuery = Type.Object(
  {
    target: Type.Optional(Type.Enum([...AUDIT_TARGETS])),
    targetId: Type.Optional(name),
    actor: Type.Optional(Type.String({ minLength: 1, maxLength: ACTOR_BYTES_MAX })),
    act: Type.Optional(Type.Enum([...AUDIT_ACTS])),
    cursor: Type.Optional(name),
    limit: Type.Optional(limit),
  },
  { ...CLOSED, description: '`target` and `targetId` go together.' },
);

export const noteBody = Type.Object(
  { text: Type.String({ minLength: 1, maxLength: REASON_MAX }) },
  CLOSED,
);

export const refusedWrite = Type.Object(
  {
    execution: executionId,
    verb: Type.Enum([...OWNER_VERBS]),
    fence,
    newest: Type.Optional(fence),
    why: Type.String(),
    owner: Type.String(),
    session: Type.String(),
    count,
    firstAt: instant,
    lastAt: instant,
  },
  CLOSED,
);

export type RefusedWriteMessage = Static<typeof refusedWrite>;

export const refusedWritePage = pageOf(refusedWrite);

export const refusedWriteQuery = Type.Object(
  {
    execution: Type.Optional(executionId),
    cursor: Type.Optional(name),
    limit: Type.Optional(limit),
  },
  CLOSED,
);
