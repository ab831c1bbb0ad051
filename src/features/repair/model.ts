// Dead letters: what is left of an execution that ended without having done its work, for people (Y-10).

import type { TerminalStatus } from '../../execution/execution.ts';
import type { Failure, FailureCategory } from '../../execution/failure.ts';
import type { ExecutionId, PipelineName, ProjectName } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';

export interface DeadLetter {
  readonly category: FailureCategory;
  readonly code: string;
  readonly reason: string;
  /** Which call failed, when it was one. */
  readonly step?: string;
  /** Of that call. */
  readonly attempts: number;
}

export interface DeadLetterRecord extends DeadLetter {
  readonly execution: ExecutionId;
  readonly project: ProjectName;
  readonly pipeline: PipelineName;
  /** That it was pinned to. */
  readonly release?: string;
  readonly status: TerminalStatus;
  readonly at: Instant;
  /** The last re-drive of it. */
  readonly redrivenBy?: ExecutionId;
}

export interface DeadLetterGroup {
  readonly pipeline: PipelineName;
  readonly code: string;
  readonly step?: string;
  readonly count: number;
  /** Of its newest. */
  readonly at: Instant;
}

export function deadLetterOf(failure: Failure, attempts = 0): DeadLetter {
  const { category, code, message, at } = failure;
  return { category, code, reason: message, ...(at === undefined ? {} : { step: at }), attempts };
}

/** They are listed and counted by it, so there is an index, which takes no more than a few. */
const CODE_BYTES_MAX = 256;

/**
 * What failed may say anything, and no database keeps a NUL or half of a surrogate pair, nor a code of any length:
 * the end must not fail by that.
 */
export function storable(letter: DeadLetter): DeadLetter {
  const { code, reason, step } = letter;
  return {
    ...letter,
    code: short(fit(code)),
    reason: fit(reason),
    ...(step === undefined ? {} : { step: fit(step) }),
  };
}

function fit(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}

function short(text: string): string {
  if (Buffer.byteLength(text) <= CODE_BYTES_MAX) return text;
  const kept = Buffer.from(text).subarray(0, CODE_BYTES_MAX - Buffer.byteLength('…'));
  // What was cut in the middle of a character is not that character.
  return `${kept.toString().replace(/\uFFFD$/, '')}…`;
}
