// Turns errors of user code into failures that can be stored, and back. User code catches the same
// class in the first run and in every replay, because both build it from the stored failure.

import { isAbsolute, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TerminalStatus } from '../execution/execution.ts';
import type { Failure, FailureCategory } from '../execution/failure.ts';
import type { ExecutionId } from '../execution/names.ts';
import {
  describeExecutionRefusal,
  type ExecutionRefusal,
  type SubmitRefusal,
  type TemplateRefusal,
} from '../execution/refusal.ts';
import { describeReleaseRefusal, type ReleaseRefusal } from '../features/releases/model.ts';
import type { Code } from '../support/codes/catalogue.ts';
import { Fault, InvalidInput } from '../support/fault.ts';
import { boundedText, readOptions, shown, wordsIn } from '../support/options.ts';

const CATEGORIES: readonly FailureCategory[] = ['retryable', 'permanent', 'denied', 'unknown'];
const MESSAGE_MAX = 4_096;
const STACK_MAX = 8_192;
const CODE_BYTES_MAX = 256;

/** Options of a `StepError`. */
export interface StepErrorOptions extends ErrorOptions {
  /** How to handle the failure. */
  readonly category: FailureCategory;
  /** A stable code for programs, at most 256 bytes. Default `step-error`. */
  readonly code?: string;
  /**
   * The least time in milliseconds before the next attempt. By default the retry policy decides.
   */
  readonly retryAfterMs?: number;
}

const STEP_ERROR_NAMES: readonly (keyof StepErrorOptions)[] = wordsIn(
  'category code retryAfterMs cause',
);

/**
 * Throw it from a step to set the failure's category, its code and when to retry.
 *
 * @example
 * await ctx.step('charge', async () => {
 *   const response = await fetch('https://pay.example.org/charges', { method: 'POST' });
 *   if (response.status === 402) {
 *     throw new StepError('The card was declined.', { category: 'permanent', code: 'declined' });
 *   }
 * });
 */
export class StepError extends Error {
  override readonly name = 'StepError';
  /** How to handle the failure. */
  readonly category: FailureCategory;
  /** The stable code. */
  readonly code: string;
  /** The least time in milliseconds before the next attempt. */
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
    // Negative numbers pass: a caller may compute the rest of a time that is already over.
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

/** A step failed for good. `ctx.step` throws it; the pipeline's code may catch it. */
export class StepFailed extends Fault {
  override readonly name = 'StepFailed';
  /** The failure of the last attempt. */
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

/** An execution ended without completing. */
class DidNotComplete extends Fault {
  /** The id of the execution. */
  readonly id: ExecutionId;
  /** The terminal status of the execution. */
  readonly status: TerminalStatus;
  /** The failure that ended it, if there is one. */
  readonly failure: Failure | undefined;

  constructor(code: Code, who: string, { id, status, failure }: Ended) {
    super(code, `${who} ${id} is ${status}${failure === undefined ? '' : `: ${failure.message}`}`);
    this.id = id;
    this.status = status;
    this.failure = failure;
  }
}

/** A child execution ended without completing. `child.result()` throws it. */
export class ChildFailed extends DidNotComplete {
  override readonly name = 'ChildFailed';

  constructor(ended: Ended) {
    super('child-failed', 'Child', ended);
  }
}

/**
 * The execution was cancelled. All calls of `ctx` throw it from then on, except those of a cleanup
 * (`ctx.scope`).
 */
export class ExecutionCancelled extends Fault {
  override readonly name = 'ExecutionCancelled';

  constructor(reason: string) {
    super('execution-cancelled', `The execution was cancelled: ${reason}`);
  }
}

/** The cleanups of a cancelled execution took too long. */
export class CleanupTimedOut extends Fault {
  override readonly name = 'CleanupTimedOut';
  readonly category: FailureCategory = 'permanent';

  constructor() {
    super(
      'cleanup-timed-out',
      'The cleanups after the cancel were not over within cleanupMs. Finished steps of them stay recorded. Pass a longer cleanupMs to ctx.scope, and clean up the rest by hand.',
    );
  }
}

/**
 * An execution ended without completing. `result` throws it.
 *
 * @example
 * try {
 *   await holdfast.result(id);
 * } catch (error) {
 *   if (error instanceof ExecutionFailed) console.error(error.status, error.failure?.message);
 * }
 */
export class ExecutionFailed extends DidNotComplete {
  override readonly name = 'ExecutionFailed';

  constructor(ended: Ended) {
    super('execution-failed', 'Execution', ended);
  }
}

/** The store refused an operation. Nothing was written. */
class ExecutionRefused<Refusal extends ExecutionRefusal> extends Fault {
  /** The reason, for programs. */
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.why, describeExecutionRefusal(refusal));
    this.refusal = refusal;
  }
}

/** The store refused a submission. Nothing was written. `refusal.why` is the reason. */
export class SubmitRefused extends ExecutionRefused<SubmitRefusal> {
  override readonly name = 'SubmitRefused';
  override readonly code = 'submit-refused';
}

/** The store refused an operation. Nothing was written. `refusal.why` is the reason. */
export class OperationRefused extends ExecutionRefused<ExecutionRefusal> {
  override readonly name = 'OperationRefused';
}

/** The version exists with other content, or the template does not exist. Nothing was written. */
export class TemplateRefused extends ExecutionRefused<TemplateRefusal> {
  override readonly name = 'TemplateRefused';
}

/** The store refused an operation on a release. Nothing was written. */
export class ReleaseRefused extends Fault {
  override readonly name = 'ReleaseRefused';
  /** The reason, for programs. */
  readonly refusal: ReleaseRefusal;

  constructor(refusal: ReleaseRefusal) {
    super(refusal.why, describeReleaseRefusal(refusal));
    this.refusal = refusal;
  }
}

/** Never throws: turns any thrown value into a failure, even one whose properties throw. */
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
      message: 'The code threw a value that cannot be described.',
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

/**
 * The place where the user's code threw. For a failed child: the place where the child's code
 * threw.
 */
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

/** A longer delay must be a mistake, and the store cannot keep a time that far away. */
const RETRY_AFTER_MS_MAX = 30 * 86_400_000;

/** The delay that the error asks for: `retryAfterMs`, or `retryAfter` in seconds as in HTTP. */
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

/**
 * A retry does not help invalid values and failed children. A step that timed out may have had its
 * effect. All other errors are retried, also those that look like mistakes in code, such as a
 * TypeError.
 */
function categoryOf(error: Error): FailureCategory {
  if (error instanceof InvalidInput || error.name === 'PayloadTooLarge') return 'permanent';
  if (error instanceof ChildFailed) return 'permanent';
  return error.name === 'TimeoutError' ? 'unknown' : 'retryable';
}

function shortened(message: string): string {
  const text = message.length <= MESSAGE_MAX ? message : `${message.slice(0, MESSAGE_MAX)}…`;
  return text.toWellFormed();
}

// Finds the place in the user's code that a stack names: the first frame outside Holdfast and Node.

const OWN_ROOT = fileURLToPath(new URL('..', import.meta.url));
const PACKAGES = /[/\\]node_modules[/\\]/;

/**
 * Returns `file:line`, relative to the working directory if the file is below it. Frames in
 * packages count only if the stack has no other.
 */
export function codeLocation(stack: string): string | undefined {
  const places = stack.split('\n').flatMap((line) => placeIn(line) ?? []);
  const place = places.find(({ file }) => !PACKAGES.test(file)) ?? places[0];
  return place === undefined ? undefined : `${fromHere(place.file)}:${place.line}`;
}

/** Reads `at name (file:line:column)` or `at file:line:column`. */
function placeIn(frame: string) {
  const text = frame.trim();
  if (!text.startsWith('at ')) return undefined;
  const named = text.endsWith(')') ? text.indexOf(' (') + 2 : 'at '.length;
  const place = text.slice(named, text.endsWith(')') ? -1 : undefined).replace(/^async /, '');
  const [column, line, ...rest] = place.split(':').reverse();
  if (!/^\d+$/.test(column ?? '') || line === undefined || !/^\d+$/.test(line)) return undefined;
  const file = pathOf(rest.reverse().join(':'));
  return file === undefined || file.startsWith(OWN_ROOT) ? undefined : { file, line };
}

function pathOf(place: string): string | undefined {
  try {
    // A reloaded module has a query behind its name.
    const path = place.startsWith('file:') ? fileURLToPath(place.replace(/[?#].*$/, '')) : place;
    return isAbsolute(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

function fromHere(file: string): string {
  try {
    const path = relative(process.cwd(), file);
    return path.startsWith('..') || isAbsolute(path) ? file : path;
  } catch {
    return file;
  }
}

/** `ctx.continueAsNew` throws this, and only the engine catches it. */
export class ContinueAsNew {
  readonly input: unknown;

  constructor(input: unknown) {
    this.input = input;
  }
}
