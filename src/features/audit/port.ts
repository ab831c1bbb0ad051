// The part of the port that keeps the audit and counts refused writes (J-1 … J-12). Records come
// with the requests of their operations, as `audit`.

import type { AuditId, ExecutionId, ProjectName } from '../../execution/names.ts';
import type { CommandRefusal } from '../../execution/refusal.ts';
import type {
  AuditAction,
  AuditRecord,
  AuditStamp,
  AuditTarget,
  RefusedWrite,
  RefusedWriteKey,
  RefusedWrites,
} from './model.ts';

export interface AuditStore {
  /** Newest first, by id. */
  audit(query: ListAudit): Promise<readonly AuditRecord[]>;
  /** The id down to which one page should look, as `deadLettersEdge` returns it. */
  auditEdge(query: ListAudit): Promise<AuditId | undefined>;
  /** Adds a note to an execution in any state, without changing it (J-5). */
  note(request: Note): Promise<NoteResult>;
  /** Records an operation outside the store's transaction before it happens (J-9). */
  recordOperation(request: RecordOperation): Promise<void>;
  /** Adds to the counts, and deletes lines beyond the limit (J-11, J-12). */
  noteRefusals(batch: readonly RefusedWrites[]): Promise<void>;
  /** Sorted by the last occurrence, newest first. */
  refusals(query: ListRefusals): Promise<readonly RefusedWrite[]>;
}

export interface ListAudit {
  readonly project: ProjectName;
  readonly target?: AuditTarget;
  /** Records about this execution and its questions. */
  readonly execution?: ExecutionId;
  readonly actor?: string;
  readonly action?: AuditAction;
  /** Continues below this id. */
  readonly before?: AuditId;
  /** Ends with this id. */
  readonly downTo?: AuditId;
  readonly limit: number;
}

export interface Note {
  readonly id: ExecutionId;
  readonly project: ProjectName;
  /** The text is its reason. */
  readonly audit: AuditStamp;
}

export interface RecordOperation {
  readonly project: ProjectName;
  readonly target: AuditTarget;
  /** `about` has the requested change. */
  readonly audit: AuditStamp;
}

/** The result of `audit.note`: `noted`, or `refused` because there is no such execution. */
export type NoteResult =
  | { readonly kind: 'noted' }
  | ({ readonly kind: 'refused' } & Extract<CommandRefusal, { why: 'execution-unknown' }>);

/** The position of a refused write in the list. */
export type RefusalPlace = RefusedWriteKey & Pick<RefusedWrite, 'lastAt'>;

export interface ListRefusals {
  readonly project: ProjectName;
  readonly execution?: ExecutionId;
  /** Continues below this one. */
  readonly before?: RefusalPlace;
  readonly limit: number;
}
