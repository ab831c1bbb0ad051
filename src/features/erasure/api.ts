// Erases one execution: its rows or its entry in the index first, in one transaction, then documents
// of the archive and large values, which are outside of that transaction. Repeating it continues.

import type { EngineConfig } from '../../engine/config.ts';
import type { OperationOptions } from '../../engine/holdfast.ts';
import { requireId } from '../../engine/named.ts';
import { projectOf } from '../../engine/submission.ts';
import type { Erasure } from '../../execution/execution.ts';
import type { ExecutionId, ProjectName } from '../../execution/names.ts';
import type { EraseRefusal } from '../../execution/refusal.ts';
import { type Instant, toInstant } from '../../support/clock.ts';
import { Fault } from '../../support/fault.ts';
import { boundedText, readOptions } from '../../support/options.ts';
import { OPERATION_OPTIONS, stampOf } from '../audit/api.ts';
import { eraseDocuments, eraseLeftDocuments } from '../retention/archive-api.ts';
import { PUT_BEFORE_MS } from './model.ts';
import type { PendingErasure } from './port.ts';

/** The result of an erasure. */
export type EraseResult =
  | {
      /** `already-erased`: an earlier erasure had removed everything. */
      readonly kind: 'erased' | 'already-erased';
      /** The id of the execution. */
      readonly id: ExecutionId;
      /** Time and actor, and what is pending. */
      readonly erasure: Erasure;
    }
  | ({ readonly kind: 'refused' } & EraseRefusal);

/** Options of an erasure. */
export interface EraseOptions extends OperationOptions {
  /** Why. The audit record has it. */
  readonly reason: string;
}

const REASON_BYTES_MAX = 4_096;
const PAGE = 200;

export async function eraseExecution(
  config: EngineConfig,
  ref: string,
  given: EraseOptions,
): Promise<EraseResult> {
  const operation = readOptions('erase', given, OPERATION_OPTIONS);
  boundedText('reason', operation.reason, REASON_BYTES_MAX);
  const project = projectOf(operation.project);
  const id = await requireId(config, ref, project);
  const { executions } = config.store;
  await prepare(config, id, project);
  const audit = stampOf(config, 'erase', operation);
  const erased = await executions.erase({ id, project, audit });
  if (erased.kind === 'refused') return erased;
  const was = erased.erasure;
  const kind = erased.isNew || was.pending !== undefined ? 'erased' : 'already-erased';
  if (was.pending === undefined) return { kind, id, erasure: was };
  return { kind, id, erasure: await finishErasure(config, { id, project, was }) };
}

/** Before anything is written: an archived execution needs its archive, and left documents go. */
async function prepare(config: EngineConfig, id: ExecutionId, project: ProjectName): Promise<void> {
  const { store, retention } = config;
  const archive = retention?.archive;
  const execution = await store.executions.read(id);
  if (execution === undefined) {
    const archived = await store.executions.archived(id);
    if (archived?.project === project && archive === undefined) throw needsArchive(id);
    return;
  }
  const isOpen = execution.endedAt === undefined || execution.erased !== undefined;
  if (isOpen || execution.project !== project || archive === undefined) return;
  await eraseLeftDocuments(config, { archive, decodes: retention?.decodes ?? true }, id);
}

function needsArchive(id: ExecutionId): Fault {
  return new Fault(
    'archive-missing',
    `Execution ${id} is in the archive, and this process has none. Nothing was written. Set archive.folder or archive.url for the coordinator, or openHoldfast({ retention: { archive } }).`,
  );
}

/** Removes what is pending, and returns what is left. */
export async function finishErasure(
  config: EngineConfig,
  pending: PendingErasure,
): Promise<Erasure> {
  const now = await removePending(config, pending);
  await config.store.executions.noteErased({ ...pending, now });
  return now;
}

async function removePending(
  config: EngineConfig,
  { id, project, was }: PendingErasure,
): Promise<Erasure> {
  const { pending = {}, ...erasure } = was;
  const inArchive = pending.documents === true ? await eraseArchived(config, id) : [];
  const digests = [...new Set([...(pending.values ?? []), ...inArchive])];
  const values = digests.length === 0 ? [] : await dropUnused(config, project, digests);
  return { ...erasure, ...(values.length > 0 && { pending: { values } }) };
}

async function eraseArchived(config: EngineConfig, id: ExecutionId): Promise<readonly string[]> {
  const found = await config.store.executions.archived(id);
  if (found === undefined) return [];
  const archive = config.retention?.archive;
  if (archive === undefined) throw needsArchive(id);
  return eraseDocuments(archive, found);
}

/** Returns those that are too recent: a row may be about to refer to them (F-15). */
async function dropUnused(
  { store: { executions } }: EngineConfig,
  project: ProjectName,
  digests: readonly string[],
): Promise<readonly string[]> {
  const unused = new Set(digests);
  let since: Instant | undefined;
  let after: ExecutionId | undefined;
  do {
    const query = { project, digests: [...unused], limit: PAGE, ...(after && { after }) };
    const page = await executions.valuesInUse(query);
    for (const digest of page.used) unused.delete(digest);
    since ??= page.now;
    after = page.next;
  } while (after !== undefined && unused.size > 0);
  if (unused.size === 0) return [];
  const putBefore = toInstant(Math.max(0, since - PUT_BEFORE_MS));
  const { recent } = await executions.dropValues({ project, digests: [...unused], putBefore });
  return recent;
}
