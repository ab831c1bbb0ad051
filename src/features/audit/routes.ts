// What is on record: acts of people, notes, and writes that were refused to workers.

import { idParams } from '../../protocol/messages/execution.ts';
import { refused } from '../../protocol/rest/problems.ts';
import {
  actingFor,
  actorOf,
  type Caller,
  type Coordinator,
  ProblemReply,
  type Route,
  route,
} from '../../protocol/rest/route.ts';
import { formatInstant } from '../../support/clock.ts';
import { stampOutside } from './api.ts';
import {
  type AuditMessage,
  auditPage,
  auditQuery,
  noteBody,
  type RefusedWriteMessage,
  refusedWritePage,
  refusedWriteQuery,
} from './messages.ts';
import type { AuditAct, AuditFacts, AuditRecord, AuditTarget, RefusedWrite } from './model.ts';

const audit = route({
  method: 'GET',
  path: '/v1/audit',
  name: 'listAudit',
  summary: 'Who did what, to what, why, and what that changed; newest first.',
  allows: ['operate'],
  query: auditQuery,
  answers: { 200: { what: 'A page.', schema: auditPage } },
  async handle({ holdfast }, { query, caller }) {
    const { target: kind, targetId: id, ...filter } = query;
    if ((kind === undefined) !== (id === undefined)) {
      throw new ProblemReply(400, 'invalid-input', 'target and targetId go together: say both.');
    }
    const target = kind === undefined || id === undefined ? {} : { target: { kind, id } };
    const { project } = caller;
    const { items, cursor } = await holdfast.audit.list({ ...filter, ...target, project });
    return { status: 200, body: { items: items.map(auditMessage), ...(cursor && { cursor }) } };
  },
});

const note = route({
  method: 'POST',
  path: '/v1/executions/:id/notes',
  name: 'noteExecution',
  summary: 'A note of an operator, kept with the audit; nothing of the execution changes.',
  allows: ['operate'],
  params: idParams,
  body: noteBody,
  answers: { 204: { what: 'It is on record.' } },
  async handle({ holdfast }, { params, body, caller }) {
    const said = { ...actingFor(caller), reason: body.text };
    const answer = await holdfast.audit.note(params.id, said);
    if (answer.kind === 'refused') throw refused(answer);
    return { status: 204 };
  },
});

const refusals = route({
  method: 'GET',
  path: '/v1/refused-writes',
  name: 'listRefusedWrites',
  summary:
    'Writes that were refused to workers whose claim was over, counted; the last seen first.',
  allows: ['operate'],
  query: refusedWriteQuery,
  answers: { 200: { what: 'A page.', schema: refusedWritePage } },
  async handle({ holdfast }, { query, caller }) {
    const { items, cursor } = await holdfast.refusals({ ...query, project: caller.project });
    const body = { items: items.map(refusedWriteMessage), ...(cursor && { cursor }) };
    return { status: 200, body };
  },
});

/** For acts on what is not in the store's transaction: on record before they are done (J-9). */
export async function recordAct(
  { store }: Coordinator,
  caller: Caller,
  {
    act,
    target,
    ...said
  }: {
    readonly act: AuditAct;
    readonly target: AuditTarget;
    readonly reason?: string;
    readonly about: AuditFacts;
  },
): Promise<void> {
  const audit = stampOutside(act, { by: actorOf(caller), ...said });
  await store.executions.recordAct({ project: caller.project, target, audit });
}

function auditMessage({ project: _, at, ...record }: AuditRecord): AuditMessage {
  return { ...record, at: formatInstant(at) };
}

function refusedWriteMessage(write: RefusedWrite): RefusedWriteMessage {
  const { project: _, firstAt, lastAt, ...rest } = write;
  return { ...rest, firstAt: formatInstant(firstAt), lastAt: formatInstant(lastAt) };
}

export const recordRoutes: readonly Route[] = [audit, note, refusals];
