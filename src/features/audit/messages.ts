// Audit records, and writes that the store refused to replaced workers.

import { type Static, Type } from 'typebox';
import { idParams } from '../../protocol/messages/execution.ts';
import { NO_EXECUTION, type Operations } from '../../protocol/messages/operation.ts';
import {
  closed,
  count,
  documented,
  executionId,
  fence,
  instant,
  name,
  pageOf,
  paging,
  REASON_MAX,
} from '../../protocol/messages/words.ts';
import { ACTOR_BYTES_MAX, AUDIT_ACTIONS, AUDIT_TARGETS, OWNER_VERBS } from './model.ts';

const target = Type.Enum([...AUDIT_TARGETS], { description: 'Kind of the resource.' });
const action = Type.Enum([...AUDIT_ACTIONS], { description: 'The action.' });

const auditRecord = closed(
  {
    id: Type.String({ description: 'Id of the record.' }),
    at: documented(instant, 'When it was written.'),
    actor: Type.String({ description: 'Name and id of the key that was used.' }),
    action: action,
    target: closed(
      {
        kind: target,
        id: Type.String({ description: 'Id of the resource.' }),
      },
      { description: 'The resource that was acted on.' },
    ),
    reason: Type.String({ description: 'Reason that the caller gave. Empty if none.' }),
    before: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), { description: 'Facts before the change.' }),
    ),
    after: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), { description: 'Facts after the change.' }),
    ),
  },
  {
    title: 'AuditRecord',
    examples: [
      {
        id: '01890a5d-b1c2-7e4f-8a90-5d1f2b3c4d5e',
        at: '2026-11-17T09:30:00.000Z',
        actor: 'ann (a2b3c4d5e6f7a2b3)',
        action: 'cancel',
        target: { kind: 'execution', id: '01890a5d-ac96-774b-bcce-b302099a8057' },
        reason: 'Customer cancelled the order.',
        before: { status: 'queued' },
        after: { status: 'cancelled' },
      },
    ],
  },
);

export type AuditMessage = Static<typeof auditRecord>;

const auditQuery = closed(
  {
    target: Type.Optional(
      documented(target, 'Only records about resources of this kind. Needs `targetId`.'),
    ),
    targetId: Type.Optional(
      documented(
        name,
        'Only records about this resource. Needs `target`.',
        '01890a5d-ac96-774b-bcce-b302099a8057',
      ),
    ),
    actor: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: ACTOR_BYTES_MAX,
        description: 'Only records of this actor, as records name it.',
        examples: ['ann (a2b3c4d5e6f7a2b3)'],
      }),
    ),
    action: Type.Optional(documented(action, 'Only records of this action.')),
    ...paging(name),
  },
  { description: '`target` and `targetId` go together.' },
);

const refusedWrite = closed(
  {
    execution: executionId,
    verb: Type.Enum([...OWNER_VERBS], { description: 'Kind of write.' }),
    fence: documented(fence, 'Fence that the write carried.'),
    newest: Type.Optional(documented(fence, 'Newest fence of the execution at that time.')),
    why: Type.String({ description: 'Code of the refusal.' }),
    owner: Type.String({ description: 'Name of the worker that sent it.' }),
    session: Type.String({ description: 'Session of that worker.' }),
    count: documented(count, 'Number of refused writes of this kind under this fence.'),
    firstAt: documented(instant, 'When the first one was refused.'),
    lastAt: documented(instant, 'When the last one was refused.'),
  },
  {
    title: 'RefusedWrite',
    examples: [
      {
        execution: '01890a5d-ac96-774b-bcce-b302099a8057',
        verb: 'record',
        fence: 1_099_511_627_777,
        newest: 1_099_511_627_778,
        why: 'superseded',
        owner: 'worker-1',
        session: '01890a5d-b1c2-7e4f-8a90-5d1f2b3c4d5e',
        count: 2,
        firstAt: '2026-11-17T09:31:00.000Z',
        lastAt: '2026-11-17T09:31:00.500Z',
      },
    ],
  },
);

export type RefusedWriteMessage = Static<typeof refusedWrite>;

export const recordOperations = {
  listAudit: {
    at: 'GET /v1/audit',
    tag: 'Audit',
    summary: 'List audit records',
    description:
      "Returns the project's audit records that match all filters, newest first: actor, action, resource, reason, and the facts before and after.",
    allows: ['operate'],
    query: auditQuery,
    responses: { 200: { what: 'One page of audit records.', schema: pageOf(auditRecord) } },
  },
  noteExecution: {
    at: 'POST /v1/executions/:id/notes',
    tag: 'Control',
    summary: 'Add a note to an execution',
    description:
      'Writes an audit record with your text. The execution does not change. Each request adds a note.',
    allows: ['operate'],
    params: idParams,
    body: closed(
      {
        text: Type.String({
          minLength: 1,
          maxLength: REASON_MAX,
          description: 'Text of the note.',
        }),
      },
      { examples: [{ text: 'The bank confirmed the payment.' }] },
    ),
    responses: {
      204: { what: 'The note is stored.' },
      ...NO_EXECUTION,
    },
  },
  listRefusedWrites: {
    at: 'GET /v1/refused-writes',
    tag: 'Audit',
    summary: 'List refused writes of replaced workers',
    description:
      'Returns writes that the store refused because their claim was over, counted by execution, kind and fence, newest first. Many of them point to paused or overloaded workers.',
    allows: ['operate'],
    query: closed({
      execution: Type.Optional(documented(executionId, 'Only writes to this execution.')),
      ...paging(name),
    }),
    responses: { 200: { what: 'One page of refused writes.', schema: pageOf(refusedWrite) } },
  },
} as const satisfies Operations;
