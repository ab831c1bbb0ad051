// Audit records, and writes that the store refused to replaced workers.

import { type Static, Type } from 'typebox';
import { refParams } from '../../protocol/messages/execution.ts';
import { NO_EXECUTION, type Operations } from '../../protocol/messages/operation.ts';
import {
  choice,
  closed,
  count,
  documented,
  executionId,
  fence,
  instant,
  name,
  optional,
  pageOf,
  paging,
  REASON_MAX,
  text,
  textWithin,
  titled,
  withExample,
} from '../../protocol/messages/words.ts';
import {
  ACTOR_BYTES_MAX,
  AUDIT_ACTIONS,
  AUDIT_TARGETS,
  OWNER_VERBS,
  WRITE_TRANSPORTS,
} from './model.ts';

const target = choice([...AUDIT_TARGETS], 'Kind of the resource.');
const action = choice([...AUDIT_ACTIONS], 'The action.');

const auditRecord = closed(
  {
    id: text('Id of the record.'),
    at: documented(instant, 'When it was written.'),
    actor: text('Name and id of the key that was used.'),
    action: action,
    target: closed(
      { kind: target, id: text('Id of the resource.') },
      { description: 'The resource that was acted on.' },
    ),
    reason: text('Reason that the caller gave. Empty if none.'),
    before: optional(
      Type.Record(Type.String(), Type.Unknown(), { description: 'Facts before the change.' }),
    ),
    after: optional(
      Type.Record(Type.String(), Type.Unknown(), { description: 'Facts after the change.' }),
    ),
  },
  titled('AuditRecord', {
    id: '01890a5d-b1c2-7e4f-8a90-5d1f2b3c4d5e',
    at: '2026-11-17T09:30:00.000Z',
    actor: 'ann (a2b3c4d5e6f7a2b3)',
    action: 'cancel',
    target: { kind: 'execution', id: '01890a5d-ac96-774b-bcce-b302099a8057' },
    reason: 'Customer cancelled the order.',
    before: { status: 'queued' },
    after: { status: 'cancelled' },
  }),
);

export type AuditMessage = Static<typeof auditRecord>;

const auditQuery = closed(
  {
    target: optional(target, 'Only records about resources of this kind. Needs `targetId`.'),
    targetId: optional(
      name,
      'Only records about this resource. Needs `target`.',
      '01890a5d-ac96-774b-bcce-b302099a8057',
    ),
    execution: optional(executionId, 'Only records about this execution and its questions.'),
    actor: optional(
      textWithin(
        1,
        ACTOR_BYTES_MAX,
        'Only records of this actor, as records name it.',
        'ann (a2b3c4d5e6f7a2b3)',
      ),
    ),
    action: optional(action, 'Only records of this action.'),
    from: optional(instant, 'Only records from this time on, by the clock of their writer.'),
    to: optional(instant, 'Only records before this time, by the clock of their writer.'),
    ...paging(name),
  },
  { description: '`target` and `targetId` go together.' },
);

const refusedWrite = closed(
  {
    execution: executionId,
    verb: choice([...OWNER_VERBS], 'Kind of write.'),
    fence: documented(fence, 'Fence that the write carried.'),
    newest: optional(fence, 'Newest fence of the execution at that time.'),
    why: text('Code of the refusal.'),
    owner: text('Name of the worker that sent it.'),
    session: text('Session of that worker.'),
    transport: optional(
      choice(
        [...WRITE_TRANSPORTS],
        'Transport of the last one. Absent for entries of older builds.',
      ),
    ),
    count: documented(count, 'Number of refused writes of this kind under this fence.'),
    firstAt: documented(instant, 'When the first one was refused.'),
    lastAt: documented(instant, 'When the last one was refused.'),
    lateMs: optional(
      count,
      'Milliseconds between the end of its claim and the last one. Absent if the end is not known.',
    ),
  },
  titled('RefusedWrite', {
    execution: '01890a5d-ac96-774b-bcce-b302099a8057',
    verb: 'record',
    fence: 1_099_511_627_777,
    newest: 1_099_511_627_778,
    why: 'superseded',
    owner: 'worker-1',
    session: '01890a5d-b1c2-7e4f-8a90-5d1f2b3c4d5e',
    transport: 'grpc',
    count: 2,
    firstAt: '2026-11-17T09:31:00.000Z',
    lastAt: '2026-11-17T09:31:00.500Z',
    lateMs: 4_200,
  }),
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
    params: refParams,
    body: closed(
      { text: textWithin(1, REASON_MAX, 'Text of the note.') },
      withExample({ text: 'The bank confirmed the payment.' }),
    ),
    responses: { 204: { what: 'The note is stored.' }, ...NO_EXECUTION },
  },
  listRefusedWrites: {
    at: 'GET /v1/refused-writes',
    tag: 'Audit',
    summary: 'List refused writes of replaced workers',
    description:
      'Returns writes that the store refused because their claim was over, counted by execution, kind and fence, newest first. Many of them point to paused or overloaded workers.',
    allows: ['operate'],
    query: closed({
      execution: optional(executionId, 'Only writes to this execution.'),
      ...paging(name),
    }),
    responses: { 200: { what: 'One page of refused writes.', schema: pageOf(refusedWrite) } },
  },
} as const satisfies Operations;
