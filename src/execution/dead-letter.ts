// Dead letters: what is left of an execution that ended without having done its work, for people (Y-10).

import type { Instant } from '../support/clock.ts';
import type { TerminalStatus } from './execution.ts';
import type { Failure, FailureCategory } from './failure.ts';
import type { ExecutionId, PipelineName, ProjectName } from './names.ts';

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
