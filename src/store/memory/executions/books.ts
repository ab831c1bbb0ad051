// What is kept beside executions: the places and turns of keys, what people did.

import type { AuditRecord } from '../../../execution/audit.ts';
import type { RateState } from '../../../execution/decide/gates.ts';
import type { Lane } from '../../../execution/execution.ts';
import type { AuditId, ExecutionId, ProjectName } from '../../../execution/names.ts';
import type { RefusedWrite } from '../../../execution/refused-write.ts';
import type { ArchivedExecution } from '../../../execution/retention.ts';
import type { WorkerRecord } from '../../../release/worker.ts';
import type { Heap } from './heap.ts';

/** The places of one concurrency key, and who waits for one. */
export interface PlaceBook {
  limit: number;
  taken: number;
  /** How many have not passed the gate yet. */
  gated: number;
  readonly waiting: Readonly<Record<Lane, Heap>>;
}

export type RateBook = Map<string, RateState>;

export interface WorkerBook {
  readonly record: Omit<WorkerRecord, 'ended' | 'overdue'>;
  /** Project and route of what it may claim of what is pinned. */
  readonly routes: ReadonlySet<string>;
}

/** What people did, and what was refused to workers. */
export class AuditBook {
  /** By execution, fence and verb. */
  readonly refusals: Map<ProjectName, Map<string, RefusedWrite>> = new Map();
  readonly #ids: Set<AuditId> = new Set();
  readonly #records: Map<ProjectName, AuditRecord[]> = new Map();

  /** J-3: the first one of an id stays. */
  add(record: AuditRecord): void {
    const { id, project } = record;
    if (this.#ids.has(id)) return;
    this.#ids.add(id);
    const records = this.#records.get(project) ?? [];
    this.#records.set(project, records);
    // Ids are made in order, so that it is nearly always the last.
    records.splice(records.findLastIndex((each) => each.id < id) + 1, 0, Object.freeze(record));
  }

  /** By id. */
  recordsOf(project: ProjectName): readonly AuditRecord[] {
    return this.#records.get(project) ?? [];
  }
}

/** What was removed, and where its documents are. */
export type ArchiveBook = Map<ExecutionId, ArchivedExecution>;
