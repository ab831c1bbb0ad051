// Rows of the archive's index, in one shape for both SQL stores.

import type { Erasure, TerminalStatus } from '../../execution/execution.ts';
import type { ExecutionId, PipelineName, ProjectName } from '../../execution/names.ts';
import { STATUS_CODES, toStatus } from '../../store/execution-rows.ts';
import { toInstant } from '../../support/clock.ts';
import { type ArchivedExecution, keyWords, type Removable } from './model.ts';

export interface ArchivedRow {
  readonly id: string;
  readonly project: string;
  readonly pipeline: string;
  readonly status: number;
  readonly submitted_at: number;
  readonly ended_at: number;
  readonly archived_at: number;
  readonly key: string | null;
  readonly tags: string;
  readonly parent_id: string | null;
  readonly redrive_of: string | null;
  readonly place: string;
  readonly digest: string;
  readonly erased: string | null;
}

export function fromArchived(archived: ArchivedExecution): ArchivedRow {
  return {
    id: archived.id,
    project: archived.project,
    pipeline: archived.pipeline,
    status: STATUS_CODES[archived.status],
    submitted_at: archived.submittedAt,
    ended_at: archived.endedAt,
    archived_at: archived.archivedAt,
    key: archived.key ?? null,
    tags: JSON.stringify(archived.tags),
    parent_id: archived.parent ?? null,
    redrive_of: archived.redriveOf ?? null,
    place: archived.place,
    digest: archived.digest,
    erased: archived.erased === undefined ? null : JSON.stringify(archived.erased),
  };
}

export function toArchived(row: ArchivedRow): ArchivedExecution {
  return {
    id: row.id as ExecutionId,
    project: row.project as ProjectName,
    pipeline: row.pipeline as PipelineName,
    status: toStatus(row.status) as TerminalStatus,
    submittedAt: toInstant(row.submitted_at),
    endedAt: toInstant(row.ended_at),
    archivedAt: toInstant(row.archived_at),
    ...(row.key === null ? {} : { key: row.key }),
    tags: JSON.parse(row.tags) as readonly string[],
    ...(row.parent_id === null ? {} : { parent: row.parent_id as ExecutionId }),
    ...(row.redrive_of === null ? {} : { redriveOf: row.redrive_of as ExecutionId }),
    place: row.place,
    digest: row.digest,
    ...(row.erased === null ? {} : { erased: JSON.parse(row.erased) as Erasure }),
  };
}

export const ARCHIVED_LABELS = { tag: 0, word: 1 } as const;

export interface ArchivedLabel {
  readonly kind: number;
  readonly value: string;
}

/** Each label once (F-7). */
export function archivedLabels({ tags, key }: ArchivedExecution): readonly ArchivedLabel[] {
  return [
    ...[...new Set(tags)].map((value) => ({ kind: ARCHIVED_LABELS.tag, value })),
    ...(key === undefined ? [] : keyWords(key)).map((value) => ({
      kind: ARCHIVED_LABELS.word,
      value,
    })),
  ];
}

export interface RemovableRow {
  readonly id: string;
  readonly project: string;
  readonly status: number;
  readonly ended_at: number;
  readonly has_open_letter: boolean | number;
}

export function toRemovable(row: RemovableRow): Removable {
  return {
    id: row.id as ExecutionId,
    project: row.project as ProjectName,
    status: toStatus(row.status) as TerminalStatus,
    endedAt: toInstant(row.ended_at),
    hasOpenLetter: Boolean(row.has_open_letter),
  };
}
