// The part of the port that erases the values of ended executions (F-13 … F-16).

import type { Erasure } from '../../execution/execution.ts';
import type { ExecutionId, ProjectName } from '../../execution/names.ts';
import type { EraseRefusal } from '../../execution/refusal.ts';
import type { Instant } from '../../support/clock.ts';
import type { AuditStamp } from '../audit/model.ts';

export interface ErasureStore {
  /**
   * Erases the values in the rows of an ended execution, or marks its entry in the index of the
   * archive. Writes the audit record in the same transaction. A second one changes nothing.
   */
  erase(request: Erase): Promise<Erased>;
  /** Returns which of these large values other rows of the project refer to, one page at a time. */
  valuesInUse(query: ValuesInUse): Promise<ValuesInUsePage>;
  /** Takes large values from a project, unless a put came after `putBefore`. */
  dropValues(request: DropValues): Promise<DroppedValues>;
  /** Replaces what is pending, if it is still what the caller saw. It is due later then. */
  noteErased(request: NoteErased): Promise<void>;
  /** Returns erasures that are pending and due, the longest due first. */
  pendingErasures(query: ListPendingErasures): Promise<readonly PendingErasure[]>;
}

export interface Erase {
  readonly id: ExecutionId;
  readonly project: ProjectName;
  readonly audit: AuditStamp;
}

/**
 * The result of the store. `isNew`: this call erased the execution. `archived`: it is in the archive.
 */
export type Erased =
  | {
      readonly kind: 'erased';
      readonly erasure: Erasure;
      readonly isNew: boolean;
      readonly archived: boolean;
    }
  | ({ readonly kind: 'refused' } & EraseRefusal);

export interface ValuesInUse {
  readonly project: ProjectName;
  /** Digests, or at least 16 digits with which they begin. */
  readonly digests: readonly string[];
  /** Continues above this execution. Absent: starts with templates and schedules. */
  readonly after?: ExecutionId;
  /** The number of executions to look at. */
  readonly limit: number;
}

export interface ValuesInUsePage {
  readonly used: readonly string[];
  /** Store time. */
  readonly now: Instant;
  /** The start of the next page; absent after the last page. */
  readonly next?: ExecutionId;
}

export interface DropValues {
  readonly project: ProjectName;
  readonly digests: readonly string[];
  readonly putBefore: Instant;
}

/** `recent`: a put came after `putBefore`, so they stay for now. */
export interface DroppedValues {
  readonly dropped: number;
  readonly recent: readonly string[];
}

export interface NoteErased extends PendingErasure {
  readonly now: Erasure;
}

export interface ListPendingErasures {
  /** Whether documents of the archive are pending. */
  readonly inArchive: boolean;
  readonly limit: number;
}

export interface PendingErasure {
  readonly id: ExecutionId;
  readonly project: ProjectName;
  readonly was: Erasure;
}
