// The audit, as people read it and add to it: who did what, to what, why, and what that changed.

import {
  ACTOR_BYTES_MAX,
  AUDIT_ACTS,
  AUDIT_TARGETS,
  type AuditAct,
  type AuditRecord,
  type AuditTarget,
} from '../execution/audit.ts';
import { type AuditId, parseExecutionId } from '../execution/names.ts';
import type { ListAudit, NoteAnswer } from '../store/contract/audit-store.ts';
import { InvalidInput } from '../support/fault.ts';
import { boundedText, readOptions, shown, wholeNumber } from '../support/options.ts';
import { ACTING, stampOf } from './auditing.ts';
import type { EngineConfig } from './config.ts';
import type { Acting, Page } from './holdfast-types.ts';
import { cursorOf } from './list-query.ts';
import { projectOf } from './submission.ts';

export interface AuditListOptions {
  readonly project?: string;
  readonly target?: AuditTarget;
  readonly actor?: string;
  readonly act?: AuditAct;
  readonly cursor?: string;
  readonly limit?: number;
}

const LIST_NAMES: readonly (keyof AuditListOptions)[] = [
  ...(['project', 'target', 'actor', 'act', 'cursor', 'limit'] as const),
];
const TARGET_ID_BYTES_MAX = 256;
const NOTE_BYTES_MAX = 4_096;

export class Audit {
  readonly #config: EngineConfig;

  constructor(config: EngineConfig) {
    this.#config = config;
  }

  /** Newest first. */
  async list(options: AuditListOptions = {}): Promise<Page<AuditRecord>> {
    const query = auditQueryOf(options);
    const items = await this.#config.store.executions.audit(query);
    const last = items.at(-1);
    const isLast = items.length < query.limit || last === undefined;
    return { items, ...(isLast ? {} : { cursor: last.id }) };
  }

  /** To an execution in any state; nothing of it changes. The text is the reason. */
  async note(id: string, said: Acting & { readonly reason: string }): Promise<NoteAnswer> {
    const given = readOptions('audit.note', said, ACTING);
    boundedText('reason', given.reason, NOTE_BYTES_MAX);
    return this.#config.store.executions.note({
      id: parseExecutionId(id),
      project: projectOf(given.project),
      audit: stampOf(this.#config, 'note', given),
    });
  }
}

function auditQueryOf(options: AuditListOptions): ListAudit {
  const given = readOptions('audit.list', options, LIST_NAMES);
  const { project, target, actor, act, cursor, limit = 100 } = given;
  return {
    project: projectOf(project),
    limit: wholeNumber('limit', limit, { min: 1, max: 10_000 }),
    ...(target === undefined ? {} : { target: targetOf(target) }),
    ...(actor === undefined ? {} : { actor: boundedText('actor', actor, ACTOR_BYTES_MAX) }),
    ...(act === undefined ? {} : { act: oneOf('act', act, AUDIT_ACTS) }),
    ...(cursor === undefined ? {} : { before: cursorOf(cursor) as string as AuditId }),
  };
}

function targetOf(given: AuditTarget): AuditTarget {
  const { kind, id } = readOptions('target', given, ['kind', 'id']);
  return {
    kind: oneOf('target.kind', kind, AUDIT_TARGETS),
    id: boundedText('target.id', id, TARGET_ID_BYTES_MAX),
  };
}

function oneOf<Known>(what: string, value: Known, known: readonly Known[]): Known {
  if (known.includes(value)) return value;
  throw new InvalidInput(`${what} must be one of ${known.join(', ')}; got ${shown(value)}.`);
}
