// Turns refusals and faults into problems: the same code and sentence as for embedded callers, with
// a status.

import { OperationRefused, SubmitRefused, TemplateRefused } from '../../engine/failures.ts';
import type { ExecutionRefusal } from '../../execution/refusal.ts';
import { describeExecutionRefusal } from '../../execution/refusal.ts';
import { describeRefusal, type Refusal } from '../../lease/refusal.ts';
import { type Code, entryOf, isCode, statusOf } from '../../support/codes/catalogue.ts';
import { Fault, InvalidInput } from '../../support/fault.ts';
import type { ProblemMessage } from '../messages/problem.ts';
import { type Caller, ProblemReply } from './route.ts';

interface Problem extends ProblemMessage {
  readonly code: Code;
}

/** Bounded, because details repeat parts of the request, which may be as long as a body. */
const DETAIL_CHARS_MAX = 8_192;

export function problemOf(code: Code, full: string, status: number = statusOf(code)): Problem {
  const { title } = entryOf(code);
  const isLong = full.length > DETAIL_CHARS_MAX;
  const detail = isLong ? `${full.slice(0, DETAIL_CHARS_MAX)}…` : full;
  return { type: `urn:holdfast:problem:${code}`, title, status, code, detail };
}

export function refusalReply(refusal: ExecutionRefusal): ProblemReply {
  const reply = new ProblemReply(refusal.why, describeExecutionRefusal(refusal));
  reply.refusal = refusal;
  return reply;
}

export function refusedByKernel(refusal: Refusal): ProblemReply {
  const reply = new ProblemReply(refusal.why, describeRefusal(refusal));
  reply.refusal = refusal;
  return reply;
}

/** Resources without a project need a key for all projects. */
export function requireOfAll({ isOfAll }: Caller): void {
  if (isOfAll) return;
  throw new ProblemReply(
    'project-denied',
    'This resource is not project-scoped. Nothing was done. Use an access key for all projects.',
  );
}

export function notFound(what: string): ProblemReply {
  return new ProblemReply(
    'not-found',
    `There is no ${what} in this project. Check the id and the project.`,
  );
}

/** For a resource outside every project. */
export function unknownProject(name: string): ProblemReply {
  return new ProblemReply(
    'not-found',
    `There is no project ${JSON.stringify(name)}. List the projects: holdfast projects (GET /v1/projects).`,
  );
}

/** Faults that the caller should see. */
const SENT: ReadonlySet<string> = new Set<Code>([
  ...(['payload-too-large', 'execution-unknown', 'redrive-impossible'] as const),
  ...(['continued-in-circle', 'release-differs', 'answer-check-failed', 'codec-missing'] as const),
  ...(['archive-missing', 'archive-damaged', 'store-sealed', 'over-quota'] as const),
  ...(['schedule-exists', 'query-unknown', 'query-failed', 'no-worker'] as const),
  ...(['value-erased'] as const),
]);

/** Faults of the store or the archive: sent to the caller, and logged. */
const AWAY: ReadonlySet<string> = new Set<Code>([
  ...(['store-unavailable', 'outcome-unknown', 'archive-unavailable'] as const),
]);

/** Never throws. An unexpected error becomes a 500 that reveals no internals. */
export function problemFrom(error: unknown): Problem & { readonly isFault: boolean } {
  if (error instanceof ProblemReply) {
    const { status, code, message, refusal } = error;
    const found = problemOf(code, message, status);
    return { ...found, ...(refusal === undefined ? {} : { refusal }), isFault: false };
  }
  if (
    error instanceof SubmitRefused ||
    error instanceof OperationRefused ||
    error instanceof TemplateRefused
  ) {
    return problemFrom(refusalReply(error.refusal));
  }
  if (error instanceof Fault && isCode(error.code)) {
    const { code, message } = error;
    if (AWAY.has(code)) return { ...problemOf(code, message), isFault: true };
    if (error instanceof InvalidInput || SENT.has(code)) {
      return { ...problemOf(code, message), isFault: false };
    }
  }
  const detail =
    'The coordinator failed. The request may or may not have had its effect. Read its log.';
  return { ...problemOf('fault', detail), isFault: true };
}
