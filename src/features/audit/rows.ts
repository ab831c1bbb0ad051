// Rows of the audit and of refused writes, in one shape for both SQL stores.

import type { AuditId, ExecutionId, ProjectName } from '../../execution/names.ts';
import { toFence } from '../../lease/fence.ts';
import type { Owner, SessionId } from '../../lease/names.ts';
import { toInstant } from '../../support/clock.ts';
import type {
  AuditAction,
  AuditFacts,
  AuditRecord,
  AuditTarget,
  RefusedWrite,
  WriteTransport,
} from './model.ts';

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

/** Audit records never change, so rows keep the words that these actions had first. */
const STORED_ACTIONS: Readonly<Partial<Record<AuditAction, string>>> = {
  repin: 'move',
  'bulk-repin': 'bulk-move',
  'create-key': 'make-key',
  'revoke-key': 'end-key',
  'create-link': 'make-link',
};

const ACTIONS_BY_STORED: ReadonlyMap<string, AuditAction> = new Map(
  Object.entries(STORED_ACTIONS).map(([action, stored]) => [stored, action as AuditAction]),
);

export function storedAction(action: AuditAction): string {
  return STORED_ACTIONS[action] ?? action;
}

export function fromAudit(record: AuditRecord): AuditRow {
  const { id, at, project, actor, action, target, reason, before, after } = record;
  return {
    ...{ id, at, project, actor, act: storedAction(action), reason },
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
    action: ACTIONS_BY_STORED.get(row.act) ?? (row.act as AuditAction),
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
  readonly transport: string | null;
  readonly count: number;
  readonly first_at: number;
  readonly last_at: number;
  readonly lost_at: number | null;
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
    ...(row.transport === null ? {} : { transport: row.transport as WriteTransport }),
    count: row.count,
    firstAt: toInstant(row.first_at),
    lastAt: toInstant(row.last_at),
    ...(row.lost_at === null ? {} : { lateMs: Math.max(0, row.last_at - row.lost_at) }),
  };
}
