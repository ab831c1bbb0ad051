// The part of the port that keeps the audit, and the count of refused writes (J-1 … J-12). Records come with
// the acts that they are of: `audit` of their requests.

import type { AuditId, ExecutionId, ProjectName } from '../../execution/names.ts';
import type { CommandRefusal } from '../../execution/refusal.ts';
import type {
  AuditAct,
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
  /** Of an execution in any state, of which nothing changes (J-5). */
  note(request: Note): Promise<NoteAnswer>;
  /** For acts on what is not in the same transaction: written before they are done (J-9). */
  recordAct(request: RecordAct): Promise<void>;
  /** Adds to what was counted, and forgets what is too much (J-11, J-12). */
  noteRefusals(batch: readonly RefusedWrites[]): Promise<void>;
  /** The last seen first. */
  refusals(query: ListRefusals): Promise<readonly RefusedWrite[]>;
}

export interface ListAudit {
  readonly project: ProjectName;
  readonly target?: AuditTarget;
  readonly actor?: string;
  readonly act?: AuditAct;
  /** Goes on below this id. */
  readonly before?: AuditId;
  readonly limit: number;
}

export interface Note {
  readonly id: ExecutionId;
  readonly project: ProjectName;
  /** The text is its reason. */
  readonly audit: AuditStamp;
}

export interface RecordAct {
  readonly project: ProjectName;
  readonly target: AuditTarget;
  /** `about` is what was asked for. */
  readonly audit: AuditStamp;
}

export type NoteAnswer =
  | { readonly kind: 'noted' }
  | ({ readonly kind: 'refused' } & Extract<CommandRefusal, { why: 'execution-unknown' }>);

/** Where a refused write stands in the order of the list. */
export type RefusalPlace = RefusedWriteKey & Pick<RefusedWrite, 'lastAt'>;

export interface ListRefusals {
  readonly project: ProjectName;
  readonly execution?: ExecutionId;
  /** Goes on below this one. */
  readonly before?: RefusalPlace;
  readonly limit: number;
}
