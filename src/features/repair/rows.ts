// Rows of dead letters and outcomes of bulk jobs, in one shape for both SQL stores.

import type { TerminalStatus } from '../../execution/execution.ts';
import type { FailureCategory } from '../../execution/failure.ts';
import type { ExecutionId, PipelineName, ProjectName } from '../../execution/names.ts';
import type { CommandResult } from '../../store/contract/execution-store.ts';
import { toStatus } from '../../store/execution-rows.ts';
import { toInstant } from '../../support/clock.ts';
import type { ExecutionRepinned } from '../releases/port.ts';
import {
  type DeadLetter,
  type DeadLetterGroup,
  type DeadLetterRecord,
  outcomeOf,
  storable,
  storedOutcome,
} from './model.ts';
import type { JobItem, RedriveResult } from './port.ts';

export interface DeadLetterRow {
  readonly execution_id: string;
  readonly project: string;
  readonly pipeline: string;
  readonly release: string | null;
  readonly status: number;
  readonly category: string;
  readonly code: string;
  readonly reason: string;
  readonly step: string | null;
  readonly attempts: number;
  readonly at: number;
  readonly redriven_by: string | null;
}

export function toDeadLetter(row: DeadLetterRow): DeadLetterRecord {
  return {
    execution: row.execution_id as ExecutionId,
    project: row.project as ProjectName,
    pipeline: row.pipeline as PipelineName,
    ...(row.release === null ? {} : { release: row.release }),
    status: toStatus(row.status) as TerminalStatus,
    category: row.category as FailureCategory,
    code: row.code,
    reason: row.reason,
    ...(row.step === null ? {} : { step: row.step }),
    attempts: row.attempts,
    at: toInstant(row.at),
    ...(row.redriven_by === null ? {} : { redrivenBy: row.redriven_by as ExecutionId }),
  };
}

/** The part that comes from the end of the execution. */
export function fromDeadLetter(
  letter: DeadLetter,
): Pick<DeadLetterRow, 'category' | 'code' | 'reason' | 'step' | 'attempts'> {
  const { category, code, reason, step = null, attempts } = storable(letter);
  return { category, code, reason, step, attempts };
}

export interface DeadLetterGroupRow {
  readonly pipeline: string;
  readonly code: string;
  readonly step: string | null;
  readonly count: number;
  readonly at: number;
}

export function toDeadLetterGroup(row: DeadLetterGroupRow): DeadLetterGroup {
  return {
    pipeline: row.pipeline as PipelineName,
    code: row.code,
    ...(row.step === null ? {} : { step: row.step }),
    count: row.count,
    at: toInstant(row.at),
  };
}

export interface JobItemRow {
  readonly target: string;
  readonly outcome: string;
  readonly made: string | null;
  readonly at: number;
  readonly made_status?: number | null;
}

export function toJobItem(row: JobItemRow): JobItem {
  return {
    target: row.target as ExecutionId,
    outcome: outcomeOf(row.outcome),
    ...(row.made === null ? {} : { made: row.made as ExecutionId }),
    ...(row.made_status == null ? {} : { madeStatus: toStatus(row.made_status) }),
    at: toInstant(row.at),
  };
}

type ItemResult = CommandResult | RedriveResult | ExecutionRepinned;

/** The outcome of an item, and the whole response, for a repeated request (Y-23). */
export function fromItemResult(
  result: ItemResult,
): Pick<JobItemRow, 'outcome' | 'made'> & { readonly answer: string } {
  const { kind } = result;
  const stored =
    kind === 'refused' ? { why: storedOutcome(result.why) } : { kind: storedOutcome(kind) };
  return {
    outcome: storedOutcome(kind === 'refused' ? result.why : kind),
    made: kind === 'submitted' ? result.id : null,
    answer: JSON.stringify({ ...result, ...stored }),
  };
}

/** An item that was refused before the store was asked. */
export function fromRefusedItem(
  outcome: string,
): Pick<JobItemRow, 'outcome'> & { readonly answer: string } {
  const why = storedOutcome(outcome);
  return { outcome: why, answer: JSON.stringify({ kind: 'refused', why }) };
}

/** Parses the kept response, for a repeated item. */
export function toItemResult<Result extends ItemResult>(kept: string): Result {
  const stored = JSON.parse(kept) as { readonly kind: string; readonly why?: string };
  const { kind, why } = stored;
  return {
    ...stored,
    kind: outcomeOf(kind),
    ...(why === undefined ? {} : { why: outcomeOf(why) }),
    ...(kind === 'submitted' ? { existing: true } : {}),
  } as unknown as Result;
}
