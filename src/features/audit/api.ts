// Reads the audit and adds notes: the actor, the operation, its target, the reason and the change.

import type { EngineConfig } from '../../engine/config.ts';
import type { OperationOptions, Page } from '../../engine/holdfast.ts';
import { ExecutionIds, earliestId, instantOf } from '../../engine/ids.ts';
import { requireId } from '../../engine/named.ts';
import { cursorOf, projectOf } from '../../engine/submission.ts';
import { type AuditId, type ExecutionId, parseExecutionId } from '../../execution/names.ts';
import { toFence } from '../../lease/fence.ts';
import { systemClock, toInstant } from '../../support/clock.ts';
import { InvalidInput } from '../../support/fault.ts';
import {
  boundedText,
  integerOption,
  present,
  readOptions,
  requireOneOf,
  shown,
  wordsIn,
} from '../../support/options.ts';
import { cursorPage, filteredPage } from '../../support/page-size.ts';
import { systemRandom } from '../../support/random.ts';
import {
  ACTOR_BYTES_MAX,
  ANONYMOUS,
  AUDIT_ACTIONS,
  AUDIT_TARGETS,
  type AuditAction,
  type AuditFacts,
  type AuditRecord,
  type AuditStamp,
  type AuditTarget,
  OWNER_VERBS,
  type OwnerVerb,
  type RefusedWrite,
} from './model.ts';
import type { ListAudit, NoteResult, RefusalPlace } from './port.ts';

/** Filters and page of the audit. All filters must match. */
export interface AuditListOptions {
  /** The project. Default `default`. */
  readonly project?: string;
  /** Only records of this target. */
  readonly target?: AuditTarget;
  /** Only records of this execution and of its questions. */
  readonly execution?: string;
  /** Only records of this actor. */
  readonly actor?: string;
  /** Only records of this operation. */
  readonly action?: AuditAction;
  /** Only records from this time on, in ms since 1970, by the clock of their writer. */
  readonly from?: number;
  /** Only records before this time, in ms since 1970, by the clock of their writer. */
  readonly to?: number;
  /** The `cursor` of the previous page. By default the list starts with the newest. */
  readonly cursor?: string;
  /** Records per page, 1 to 10,000. Default 100. */
  readonly limit?: number;
}

const LIST_NAMES: readonly (keyof AuditListOptions)[] = wordsIn(
  'project target execution actor action from to cursor limit',
);
const TARGET_ID_BYTES_MAX = 256;
const NOTE_BYTES_MAX = 4_096;

/**
 * The record of operations. Reach it as `holdfast.audit`.
 *
 * @example
 * const { items } = await holdfast.audit.list({ actor: 'ada', limit: 20 });
 */
export class Audit {
  readonly #config: EngineConfig;

  constructor(config: EngineConfig) {
    this.#config = config;
  }

  /**
   * Returns a page of records, newest first. With several filters, a page may have fewer items than
   * `limit`, or none, and a cursor nevertheless.
   */
  async list(options: AuditListOptions = {}): Promise<Page<AuditRecord>> {
    const { executions } = this.#config.store;
    return filteredPage(auditQueryOf(options), {
      edge: (query) => executions.auditEdge(query),
      list: (query) => executions.audit(query),
      idOf: ({ id }) => id,
    });
  }

  /**
   * Adds a note to an execution in any state. `reason` is its text, at most 4,096 bytes.
   *
   * Returns `noted`, or a refusal if there is no such execution.
   */
  async note(
    id: string,
    operation: OperationOptions & { readonly reason: string },
  ): Promise<NoteResult> {
    const given = readOptions('audit.note', operation, OPERATION_OPTIONS);
    boundedText('reason', given.reason, NOTE_BYTES_MAX);
    return this.#config.store.executions.note({
      id: await requireId(this.#config, id, given.project),
      project: projectOf(given.project),
      audit: stampOf(this.#config, 'note', given),
    });
  }
}

function auditQueryOf(options: AuditListOptions): ListAudit {
  const given = readOptions('audit.list', options, LIST_NAMES);
  const { project, target, execution, actor, action, from, to, cursor, limit = 100 } = given;
  // Ids begin with their time, so a range of times is a range of ids.
  const ends = [
    ...(to === undefined ? [] : [auditIdAt('to', to)]),
    ...(cursor === undefined ? [] : [cursorOf(cursor) as string as AuditId]),
  ];
  const [before] = ends.toSorted();
  return {
    project: projectOf(project),
    limit: integerOption('limit', limit, { min: 1, max: 10_000 }),
    ...(target === undefined ? {} : { target: targetOf(target) }),
    ...(execution === undefined ? {} : { execution: parseExecutionId(execution) }),
    ...(actor === undefined ? {} : { actor: boundedText('actor', actor, ACTOR_BYTES_MAX) }),
    ...(action === undefined ? {} : { action: requireOneOf('action', action, AUDIT_ACTIONS) }),
    ...(from === undefined ? {} : { downTo: auditIdAt('from', from) }),
    ...present({ before }),
  };
}

function auditIdAt(name: string, ms: number): AuditId {
  return earliestId(instantOf(name, ms)) as string as AuditId;
}

function targetOf(given: AuditTarget): AuditTarget {
  const { kind, id } = readOptions('target', given, ['kind', 'id']);
  return {
    kind: requireOneOf('target.kind', kind, AUDIT_TARGETS),
    id: boundedText('target.id', id, TARGET_ID_BYTES_MAX),
  };
}

// The audit stamp of a request. The store writes it in the same transaction as the operation (J-1).

const REASON_BYTES_MAX = 4_096;

export const OPERATION_OPTIONS: readonly (keyof OperationOptions)[] =
  wordsIn('project actor reason');

export function stampOf(
  config: Pick<EngineConfig, 'ids'>,
  action: AuditAction,
  operation: Pick<OperationOptions, 'actor' | 'reason'> & { readonly about?: AuditFacts },
): AuditStamp {
  const { about } = operation;
  const { actor, reason } = checkedOperation(operation);
  const id = config.ids.next() as string as AuditId;
  return { id, action, actor, reason, ...present({ about }) };
}

/** Checks the actor and the reason, and fills in defaults. */
export function checkedOperation(operation: Pick<OperationOptions, 'actor' | 'reason'>): {
  readonly actor: string;
  readonly reason: string;
} {
  const { actor = ANONYMOUS, reason = '' } = operation;
  boundedText('actor', actor, ACTOR_BYTES_MAX);
  if (reason !== '') boundedText('reason', reason, REASON_BYTES_MAX);
  return { actor, reason };
}

const ids: ExecutionIds = new ExecutionIds(systemClock, systemRandom);

/** For operations outside the engine: on access keys, which belong to the deployment. */
export function stampOutside(
  action: AuditAction,
  operation: Pick<OperationOptions, 'actor' | 'reason'> & { readonly about?: AuditFacts },
): AuditStamp {
  return stampOf({ ids }, action, operation);
}

// Lists the writes that the store refused to workers.

/** Filters and page of refused writes. */
export interface RefusalListOptions {
  /** The project. Default `default`. */
  readonly project?: string;
  /** Only writes to this execution. */
  readonly execution?: string;
  /** The `cursor` of the previous page. */
  readonly cursor?: string;
  /** Entries per page, 1 to 10,000. Default 100. */
  readonly limit?: number;
}

const NAMES: readonly (keyof RefusalListOptions)[] = ['project', 'execution', 'cursor', 'limit'];

export async function listRefusals(
  { store, refusals }: Pick<EngineConfig, 'store' | 'refusals'>,
  options: RefusalListOptions,
): Promise<Page<RefusedWrite>> {
  const { project, execution, cursor, limit = 100 } = readOptions('refusals', options, NAMES);
  integerOption('limit', limit, { min: 1, max: 10_000 });
  const query = {
    project: projectOf(project),
    limit,
    ...(execution === undefined ? {} : { execution: parseExecutionId(execution) }),
    ...(cursor === undefined ? {} : { before: placeOf(cursor) }),
  };
  // Flush first, so that the caller sees every refusal of this process until now.
  await refusals.flush();
  const items = await store.executions.refusals(query);
  return cursorPage(items, query, cursorFor);
}

function cursorFor({ lastAt, fence, verb, execution }: RefusedWrite): string {
  return `${lastAt}.${fence}.${verb}.${execution}`;
}

/** Parses a cursor of `cursorFor`. */
function placeOf(cursor: unknown): RefusalPlace {
  const parts = typeof cursor === 'string' ? CURSOR.exec(cursor) : null;
  const [, lastAt = '', fence = '', verb = '', execution = ''] = parts ?? [];
  if (parts === null || Number(fence) === 0 || !OWNER_VERBS.includes(verb as OwnerVerb)) {
    throw new InvalidInput(`cursor must be the cursor of a page; got ${shown(cursor)}.`);
  }
  return {
    lastAt: toInstant(Number(lastAt)),
    fence: toFence(Number(fence)),
    verb: verb as OwnerVerb,
    execution: execution as ExecutionId,
  };
}

const CURSOR =
  /^(\d{1,15})\.(\d{1,15})\.([a-zA-Z]{1,10})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
