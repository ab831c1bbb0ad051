// Messages of the audit and of refused writes.

import { type Static, Type } from 'typebox';
import { idParams } from '../../protocol/messages/execution.ts';
import type { Operations } from '../../protocol/messages/operation.ts';
import {
  closed,
  count,
  executionId,
  fence,
  instant,
  name,
  pageOf,
  paging,
  REASON_MAX,
} from '../../protocol/messages/words.ts';
import { ACTOR_BYTES_MAX, AUDIT_ACTS, AUDIT_TARGETS, OWNER_VERBS } from './model.ts';

const facts = Type.Record(Type.String(), Type.Unknown());

const auditRecord = closed({
  id: Type.String(),
  at: instant,
  actor: Type.String(),
  act: Type.Enum([...AUDIT_ACTS]),
  target: closed({ kind: Type.Enum([...AUDIT_TARGETS]), id: Type.String() }),
  reason: Type.String(),
  before: Type.Optional(facts),
  after: Type.Optional(facts),
});

export type AuditMessage = Static<typeof auditRecord>;

const auditQuery = closed(
  {
    target: Type.Optional(Type.Enum([...AUDIT_TARGETS])),
    targetId: Type.Optional(name),
    actor: Type.Optional(Type.String({ minLength: 1, maxLength: ACTOR_BYTES_MAX })),
    act: Type.Optional(Type.Enum([...AUDIT_ACTS])),
    ...paging(name),
  },
  { description: '`target` and `targetId` go together.' },
);

const refusedWrite = closed({
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
});

export type RefusedWriteMessage = Static<typeof refusedWrite>;

export const recordOperations = {
  listAudit: {
    at: 'GET /v1/audit',
    summary: 'Who did what, to what, why, and what that changed; newest first.',
    allows: ['operate'],
    query: auditQuery,
    answers: { 200: { what: 'A page.', schema: pageOf(auditRecord) } },
  },
  noteExecution: {
    at: 'POST /v1/executions/:id/notes',
    summary: 'A note of an operator, kept with the audit; nothing of the execution changes.',
    allows: ['operate'],
    params: idParams,
    body: closed({ text: Type.String({ minLength: 1, maxLength: REASON_MAX }) }),
    answers: { 204: { what: 'It is on record.' } },
  },
  listRefusedWrites: {
    at: 'GET /v1/refused-writes',
    summary:
      'Writes that were refused to workers whose claim was over, counted; the last seen first.',
    allows: ['operate'],
    query: closed({
      execution: Type.Optional(executionId),
      ...paging(name),
    }),
    answers: { 200: { what: 'A page.', schema: pageOf(refusedWrite) } },
  },
} as const satisfies Operations;
