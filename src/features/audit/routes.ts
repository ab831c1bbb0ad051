// Routes for the audit, notes, and refused writes.

import { writtenTimes } from '../../protocol/rest/handling.ts';
import { refusalReply } from '../../protocol/rest/problems.ts';
import {
  actorOf,
  type Caller,
  type Coordinator,
  operationFor,
  ProblemReply,
  type Route,
  routesOf,
} from '../../protocol/rest/route.ts';
import { dateFrom, formatInstant } from '../../support/clock.ts';
import { present } from '../../support/options.ts';
import { stampOutside } from './api.ts';
import { type AuditMessage, type RefusedWriteMessage, recordOperations } from './messages.ts';
import type { AuditAction, AuditFacts, AuditRecord, AuditTarget, RefusedWrite } from './model.ts';

export const recordRoutes: readonly Route[] = routesOf(recordOperations, {
  async listAudit({ holdfast }, { query, caller }) {
    const { target: kind, targetId: id, from, to, ...rest } = query;
    const times = Object.entries(present({ from, to }));
    const range = Object.fromEntries(times.map(([name, at]) => [name, dateFrom(at).getTime()]));
    const filter = { ...rest, ...range };
    if ((kind === undefined) !== (id === undefined)) {
      throw new ProblemReply('invalid-input', 'target and targetId belong together. Pass both.');
    }
    const target = kind === undefined || id === undefined ? {} : { target: { kind, id } };
    const { project } = caller;
    const { items, cursor } = await holdfast.audit.list({ ...filter, ...target, project });
    return { status: 200, body: { items: items.map(auditMessage), ...(cursor && { cursor }) } };
  },

  async noteExecution({ holdfast }, { params, body, caller }) {
    const operation = { ...operationFor(caller), reason: body.text };
    const result = await holdfast.audit.note(params.id, operation);
    if (result.kind === 'refused') throw refusalReply(result);
    return { status: 204 };
  },

  async listRefusedWrites({ holdfast }, { query, caller }) {
    const { items, cursor } = await holdfast.refusals({ ...query, project: caller.project });
    const body = { items: items.map(refusedWriteMessage), ...(cursor && { cursor }) };
    return { status: 200, body };
  },
});

/** For operations outside the store's transaction: records them before they happen (J-9). */
export async function recordOperation(
  { store }: Coordinator,
  caller: Caller,
  {
    action,
    target,
    ...operation
  }: {
    readonly action: AuditAction;
    readonly target: AuditTarget;
    readonly reason?: string;
    readonly about: AuditFacts;
  },
): Promise<void> {
  const audit = stampOutside(action, { actor: actorOf(caller), ...operation });
  await store.executions.recordOperation({ project: caller.project, target, audit });
}

function auditMessage({ project: _, at, ...record }: AuditRecord): AuditMessage {
  return { ...record, at: formatInstant(at) };
}

function refusedWriteMessage(write: RefusedWrite): RefusedWriteMessage {
  const { project: _, ...rest } = write;
  return { ...rest, ...writtenTimes(write, 'firstAt', 'lastAt') };
}
