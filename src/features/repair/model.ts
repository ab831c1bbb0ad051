// Dead letters: the record that a failed execution leaves for people (Y-10).

import type { TerminalStatus } from '../../execution/execution.ts';
import type { Failure, FailureCategory } from '../../execution/failure.ts';
import type { ExecutionId, PipelineName, ProjectName } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';

/** Why an execution ended without doing its work. */
export interface DeadLetter {
  /** The category of the failure. */
  readonly category: FailureCategory;
  /** The code of the failure. */
  readonly code: string;
  /** The message of the failure. */
  readonly reason: string;
  /** The call that failed, if it was one. */
  readonly step?: string;
  /** How many attempts the call had. */
  readonly attempts: number;
}

/** The dead letter of an execution. */
export interface DeadLetterRecord extends DeadLetter {
  /** The id of the execution. */
  readonly execution: ExecutionId;
  /** The project. */
  readonly project: ProjectName;
  /** The name of the pipeline. */
  readonly pipeline: PipelineName;
  /** The release that it was pinned to. */
  readonly release?: string;
  /** The terminal status. */
  readonly status: TerminalStatus;
  /** When it ended. */
  readonly at: Instant;
  /** The id of its last re-drive. */
  readonly redrivenBy?: ExecutionId;
}

/** Dead letters with the same cause. */
export interface DeadLetterGroup {
  /** The name of the pipeline. */
  readonly pipeline: PipelineName;
  /** The code of the failure. */
  readonly code: string;
  /** The call that failed. */
  readonly step?: string;
  /** How many there are. */
  readonly count: number;
  /** When the newest one ended. */
  readonly at: Instant;
}

export function deadLetterOf(failure: Failure, attempts = 0): DeadLetter {
  const { category, code, message, at } = failure;
  return { category, code, reason: message, ...(at === undefined ? {} : { step: at }), attempts };
}

/** Bounds code and step: an index contains the code, and one reply has both of 1,000 groups. */
const LABEL_BYTES_MAX = 256;
/** One reply has 1,000 reasons. The event that ended the execution has the whole text. */
const REASON_BYTES_MAX = 4_096;

/**
 * A failure may have any text. Databases accept no NUL, no half of a surrogate pair and no code of
 * any length. The end of an execution must not fail because of that.
 */
export function storable(letter: DeadLetter): DeadLetter {
  const { code, reason, step } = letter;
  return {
    ...letter,
    code: short(fit(code), LABEL_BYTES_MAX),
    reason: short(fit(reason), REASON_BYTES_MAX),
    ...(step === undefined ? {} : { step: short(fit(step), LABEL_BYTES_MAX) }),
  };
}

function fit(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}

function short(text: string, bytesMax: number): string {
  if (Buffer.byteLength(text) <= bytesMax) return text;
  const kept = Buffer.from(text).subarray(0, bytesMax - Buffer.byteLength('…'));
  // The cut may fall inside a character, so drop the replacement character.
  return `${kept.toString().replace(/\uFFFD$/, '')}…`;
}

// The outcomes of bulk jobs. Items, checkpoints and results of jobs are stored and never change, so stores keep the
// words that some outcomes had first.

const STORED_OUTCOMES: ReadonlyMap<string, string> = new Map([
  ['forwarded', 'passed-on'],
  ['repinned', 'moved'],
  ['would-repin', 'would-move'],
  ['repin-breaks', 'move-breaks'],
  ['repin-unchecked', 'move-unchecked'],
  ['repin-while-running', 'move-while-running'],
]);

const OUTCOMES: ReadonlyMap<string, string> = new Map(
  [...STORED_OUTCOMES].map(([outcome, stored]) => [stored, outcome]),
);

export function storedOutcome(outcome: string): string {
  return STORED_OUTCOMES.get(outcome) ?? outcome;
}

export function outcomeOf(stored: string): string {
  return OUTCOMES.get(stored) ?? stored;
}
