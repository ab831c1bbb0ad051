// Errors of user code ↔ failures that can be stored. What user code catches is the same class in the
// first run and in every replay, made from the stored failure.

import type { TerminalStatus } from '../execution/execution.ts';
import type { Failure, FailureCategory } from '../execution/failure.ts';
import type { ExecutionId } from '../execution/names.ts';
import {
  describeExecutionRefusal,
  type ExecutionRefusal,
  type SubmitRefusal,
  type TemplateRefusal,
} from '../execution/refusal.ts';
import { describeReleaseRefusal, type ReleaseRefusal } from '../features/releases/refusal-model.ts';
import { Fault, InvalidInput } from '../support/fault.ts';
import { boundedText, readOptions, shown } from '../support/options.ts';
import { codeLocation } from './code-location.ts';

const CATEGORIES: readonly FailureCategory[] = ['retryable', 'permanent', 'denied', 'unknown'];
const MESSAGE_MAX = 4_096;
const STACK_MAX = 8_192;
const CODE_BYTES_MAX = 256;

export interface StepErrorOptions extends ErrorOptions {
  readonly category: FailureCategory;
  readonly code?: string;
  readonly retryAfterMs?: number;
}

const STEP_ERROR_NAMES: readonly (keyof StepErrorOptions)[] = [
  ...(['category', 'code', 'retryAfterMs', 'cause'] as const),
];

/** Throw it from a step to say what kind of failure it is, and when to try again. */
export class StepError extends Error {
  override readonly name = 'StepError';
  readonly category: FailureCategory;
  readonly code: string;
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: StepErrorOptions) {
    const given = readOptions('StepError', options, STEP_ERROR_NAMES);
    const { category, code = 'step-error', retryAfterMs } = given;
    if (typeof message !== 'string') {
      throw new InvalidInput(`StepError: message must be a string; got ${shown(message)}.`);
    }
    if (!isCategory(category)) {
      throw new InvalidInput(
        `StepError: category must be one of ${CATEGORIES.join(', ')}; got ${shown(category)}.`,
      );
    }
    // Any number: what is left of a time that has passed is no mistake.
    if (retryAfterMs !== undefined && typeof retryAfterMs !== 'number') {
      throw new InvalidInput(
        `StepError: retryAfterMs must be a number; got ${shown(retryAfterMs)}.`,
      );
    }
    super(message, 'cause' in given ? { cause: given.cause } : {});
    this.category = category;
    this.code = boundedText('StepError: code', code, CODE_BYTES_MAX);
    this.retryAfterMs = retryAfterMs;
  }
}

/** A step has failed for good: what the pipeline's code may catch. */
export class StepFailed extends Fault {
  override readonly name = 'StepFailed';
  readonly failure: Failure;

  constructor(step: string, failure: Failure) {
    super('step-failed', `Step "${step}" failed: ${failure.message}`);
    this.failure = failure;
  }
}

interface Ended {
  readonly id: ExecutionId;
  readonly status: TerminalStatus;
  readonly failure?: Failure;
}

/** An execution ended otherwise than by completing. */
class DidNotComplete extends Fault {
  readonly id: ExecutionId;
  readonly status: TerminalStatus;
  readonly failure: Failure | undefined;

  constructor(code: string, who: string, { id, status, failure }: Ended) {
    super(code, `${who} ${id} is ${status}${failure === undefined ? '' : `: ${failure.message}`}`);
    this.id = id;
    this.status = status;
    this.failure = failure;
  }
}

/** A child did not complete. */
export class ChildFailed extends DidNotComplete {
  override readonly name = 'ChildFailed';

  constructor(ended: Ended) {
    super('child-failed', 'Child', ended);
  }
}

/** Somebody cancelled the execution. Its calls are refused from then on; clean up without them. */
export class ExecutionCancelled extends Fault {
  override readonly name = 'ExecutionCancelled';

  constructor(reason: string) {
    super('execution-cancelled', `The execution was cancelled: ${reason}`);
  }
}

/** What `result` throws when the execution did not complete. */
export class ExecutionFailed extends DidNotComplete {
  override readonly name = 'ExecutionFailed';

  constructor(ended: Ended) {
    super('execution-failed', 'Execution', ended);
  }
}

/** The submission was refused: nothing was written. */
export class SubmitRefused extends Fault {
  override readonly name = 'SubmitRefused';
  readonly refusal: SubmitRefusal;

  constructor(refusal: SubmitRefusal) {
    super('submit-refused', describeExecutionRefusal(refusal));
    this.refusal = refusal;
  }
}

/** The act was refused: nothing was written. */
export class ActRefused extends Fault {
  override readonly name = 'ActRefused';
  readonly refusal: ExecutionRefusal;

  constructor(refusal: ExecutionRefusal) {
    super(refusal.why, describeExecutionRefusal(refusal));
    this.refusal = refusal;
  }
}

/** Of releases: nothing was written. */
export class ReleaseRefused extends Fault {
  override readonly name = 'ReleaseRefused';
  readonly refusal: ReleaseRefusal;

  constructor(refusal: ReleaseRefusal) {
    super(refusal.why, describeReleaseRefusal(refusal));
    this.refusal = refusal;
  }
}

/** The version has other content, or there is no such template: nothing was written. */
export class TemplateRefused extends Fault {
  override readonly name = 'TemplateRefused';
  readonly refusal: TemplateRefusal;

  constructor(refusal: TemplateRefusal) {
    super(refusal.why, describeExecutionRefusal(refusal));
    this.refusal = refusal;
  }
}

/** Total: whatever user code throws becomes a failure, also what cannot be looked at. */
export function failureOf(error: unknown, at?: string): Failure {
  const where = at === undefined ? {} : { at };
  try {
    if (error instanceof StepFailed) return { ...error.failure, ...where };
    if (error instanceof Error) return { ...describedError(error), ...where };
    return { category: 'retryable', code: 'thrown', message: shortened(textOf(error)), ...where };
  } catch {
    return {
      category: 'retryable',
      code: 'thrown',
      message: 'Something was thrown that cannot be described.',
      ...where,
    };
  }
}

function describedError(error: Error): Failure {
  const { code, category, message, stack } = error as {
    readonly [name in 'code' | 'category' | 'message' | 'stack']?: unknown;
  };
  return {
    category: isCategory(category) ? category : categoryOf(error),
    code: shortened(typeof code === 'string' ? code : textOf(error.name)),
    message: shortened(textOf(message)),
    ...(typeof stack === 'string' ? { stack: stack.slice(0, STACK_MAX).toWellFormed() } : {}),
    ...locationOf(error, stack),
  };
}

/** Where the user's code threw; of a child that failed, where its code did. */
function locationOf(error: Error, stack: unknown): Pick<Failure, 'location'> {
  const thrownAt = typeof stack === 'string' ? codeLocation(stack) : undefined;
  const location =
    thrownAt ?? (error instanceof DidNotComplete ? error.failure?.location : undefined);
  return location === undefined ? {} : { location: shortened(location) };
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'object' && value !== null
    ? (JSON.stringify(value) ?? String(value))
    : String(value);
}

/** Longer would be a mistake, and a time that far away cannot be stored. */
const RETRY_AFTER_MS_MAX = 30 * 86_400_000;

/** What the error asks for: `retryAfterMs`, or `retryAfter` in seconds as HTTP says it. */
export function retryAfterOf(error: unknown): number | undefined {
  try {
    if (typeof error !== 'object' || error === null) return undefined;
    const { retryAfterMs, retryAfter } = error as { retryAfterMs?: unknown; retryAfter?: unknown };
    const ms = typeof retryAfterMs === 'number' ? retryAfterMs : Number(retryAfter ?? NaN) * 1_000;
    return ms >= 0 ? Math.min(Math.ceil(ms), RETRY_AFTER_MS_MAX) : undefined;
  } catch {
    return undefined;
  }
}

function isCategory(value: unknown): value is FailureCategory {
  return CATEGORIES.includes(value as FailureCategory);
}

/** What cannot be stored now cannot be stored later; mistakes in code neither. Time-outs may have acted. */
function categoryOf(error: Error): FailureCategory {
  if (error instanceof InvalidInput || error.name === 'PayloadTooLarge') return 'permanent';
  if (error instanceof ChildFailed) return 'permanent';
  return error.name === 'TimeoutError' ? 'unknown' : 'retryable';
}

function shortened(message: string): string {
  const text = message.length <= MESSAGE_MAX ? message : `${message.slice(0, MESSAGE_MAX)}…`;
  return text.toWellFormed();
}
