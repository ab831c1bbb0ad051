// Rows of the audit and of refused writes, in one shape for both SQL stores.

import type { AuditId, ExecutionId, ProjectName } from '../../execution/names.ts';
import { toFence } from '../../lease/fence.ts';
import type { Owner, SessionId } from '../../lease/names.ts';
import { toInstant } from '../../support/clock.ts';
import type { AuditFacts, AuditRecord, AuditTarget, RefusedWrite } from './model.ts';

export interface AuditRow {
  readonly id: string;
  readonly at: number;
  readonly project: string;
  readonly actor: string;
  readonly act: string;
  readonly target_kind: string;
  readonly target_id: string;
  readonly reason: string;
  /** The facts before and after, as JSON. */
  readonly was: string | null;
  readonly became: string | null;
}

export function fromAudit(record: AuditRecord): AuditRow {
  const { id, at, project, actor, act, target, reason, before, after } = record;
  return {
    ...{ id, at, project, actor, act, reason },
    target_kind: target.kind,
    target_id: target.id,
    was: before === undefined ? null : JSON.stringify(before),
    became: after === undefined ? null : JSON.stringify(after),
  };
}

export function toAudit(row: AuditRow): AuditRecord {
  const { was, became } = row;
  return {
    id: row.id as AuditId,
    at: toInstant(row.at),
    project: row.project as ProjectName,
    actor: row.actor,
    act: row.act as AuditRecord['act'],
    target: { kind: row.target_kind as AuditTarget['kind'], id: row.target_id },
    reason: row.reason,
    ...(was === null ? {} : { before: JSON.parse(was) as AuditFacts }),
    ...(became === null ? {} : { after: JSON.parse(became) as AuditFacts }),
  };
}

export interface RefusedWriteRow {
  readonly execution_id: string;
  readonly fence: number;
  readonly verb: string;
  readonly project: string;
  readonly why: string;
  readonly newest: number | null;
  readonly session_id: string;
  readonly owner: string;
  readonly count: number;
  readonly first_at: number;
  readonly last_at: number;
}

export function toRefusedWrite(row: RefusedWriteRow): RefusedWrite {
  return {
    execution: row.execution_id as ExecutionId,
    fence: toFence(row.fence),
    verb: row.verb as RefusedWrite['verb'],
    project: row.project as ProjectName,
    why: row.why as RefusedWrite['why'],
    ...(row.newest === null ? {} : { newest: toFence(row.newest) }),
    session: row.session_id as SessionId,
    owner: row.owner as Owner,
    count: row.count,
    firstAt: toInstant(row.first_at),
    lastAt: toInstant(row.last_at),
  };
}
