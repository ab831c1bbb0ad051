// Turns refusals and faults into problems: the same code and sentence as for embedded callers, with
// a status.

import { OperationRefused, SubmitRefused, TemplateRefused } from '../../engine/failures.ts';
import type { ExecutionRefusal } from '../../execution/refusal.ts';
import { describeExecutionRefusal } from '../../execution/refusal.ts';
import { describeRefusal, type Refusal } from '../../lease/refusal.ts';
import { Fault, InvalidInput, OutcomeUnknown, StoreUnavailable } from '../../support/fault.ts';
import type { ProblemMessage } from '../messages/problem.ts';
import { type Caller, ProblemReply } from './route.ts';

const TITLES: Readonly<Record<number, string>> = {
  400: 'The request cannot be understood',
  401: 'A key is required',
  403: 'The key does not allow this',
  404: 'Not found',
  405: 'Not for this method',
  409: 'Refused',
  410: 'Gone',
  413: 'Too large',
  415: 'Not a type that is taken here',
  422: 'Refused',
  429: 'Too many requests',
  500: 'A fault of the coordinator',
  503: 'Not possible now',
};

/** Bounded, because details repeat parts of the request, which may be as long as a body. */
const DETAIL_CHARS_MAX = 8_192;

export function problemOf(status: number, code: string, full: string): ProblemMessage {
  const title = TITLES[status] ?? 'Refused';
  const isLong = full.length > DETAIL_CHARS_MAX;
  const detail = isLong ? `${full.slice(0, DETAIL_CHARS_MAX)}…` : full;
  return { type: `urn:holdfast:problem:${code}`, title, status, code, detail };
}

const UNKNOWN: ReadonlySet<ExecutionRefusal['why']> = new Set<ExecutionRefusal['why']>([
  'execution-unknown',
  'template-unknown',
  'schedule-unknown',
  'await-unknown',
  'release-unknown',
]);

const OF_ANSWERS: Readonly<Partial<Record<ExecutionRefusal['why'], number>>> = {
  'link-invalid': 403,
  'link-expired': 410,
  'link-required': 403,
  'no-worker': 503,
  'no-worker-for': 503,
};

export function refusalReply(refusal: ExecutionRefusal): ProblemReply {
  const status = UNKNOWN.has(refusal.why) ? 404 : (OF_ANSWERS[refusal.why] ?? 409);
  const reply = new ProblemReply(status, refusal.why, describeExecutionRefusal(refusal));
  reply.refusal = refusal;
  return reply;
}

export function refusedByKernel(refusal: Refusal): ProblemReply {
  const isUnknown = refusal.why === 'session-unknown' || refusal.why === 'key-unknown';
  const reply = new ProblemReply(isUnknown ? 404 : 409, refusal.why, describeRefusal(refusal));
  reply.refusal = refusal;
  return reply;
}

/** Resources without a project need a key for all projects. */
export function requireOfAll({ isOfAll }: Caller): void {
  if (isOfAll) return;
  throw new ProblemReply(
    403,
    'project-denied',
    'This is of no project, or of all of them. It needs a key of all projects.',
  );
}

export function notFound(what: string): ProblemReply {
  return new ProblemReply(404, 'not-found', `There is no ${what} in this project.`);
}

/** For a resource outside every project. */
export function unknownProject(name: string): ProblemReply {
  return new ProblemReply(
    404,
    'not-found',
    `There is no project ${JSON.stringify(name)}. Those there are: holdfast projects (GET /v1/projects).`,
  );
}

/** Faults that the caller should see. */
const OF_FAULTS: Readonly<Record<string, number>> = {
  'payload-too-large': 413,
  'execution-unknown': 404,
  'redrive-impossible': 409,
  'continued-in-circle': 409,
  'release-differs': 409,
  'answer-check-failed': 409,
  'codec-missing': 409,
  'archive-missing': 409,
  'archive-damaged': 409,
  'store-sealed': 503,
  'over-quota': 429,
};

function isAway(error: unknown): error is Fault {
  return (
    error instanceof StoreUnavailable ||
    error instanceof OutcomeUnknown ||
    (error instanceof Fault && error.code === 'archive-unavailable')
  );
}

/** Never throws. An unexpected error becomes a 500 that reveals no internals. */
export function problemFrom(error: unknown): ProblemMessage & { readonly isFault: boolean } {
  if (error instanceof ProblemReply) {
    const { status, code, message, refusal } = error;
    const found = problemOf(status, code, message);
    return { ...found, ...(refusal === undefined ? {} : { refusal }), isFault: false };
  }
  if (
    error instanceof SubmitRefused ||
    error instanceof OperationRefused ||
    error instanceof TemplateRefused
  ) {
    return problemFrom(refusalReply(error.refusal));
  }
  if (error instanceof InvalidInput) {
    return { ...problemOf(400, error.code, error.message), isFault: false };
  }
  if (isAway(error)) {
    return { ...problemOf(503, error.code, error.message), isFault: true };
  }
  const status = error instanceof Fault ? OF_FAULTS[error.code] : undefined;
  if (error instanceof Fault && status !== undefined) {
    return { ...problemOf(status, error.code, error.message), isFault: false };
  }
  return {
    ...problemOf(500, 'fault', 'The coordinator could not do this. Its log says why.'),
    isFault: true,
  };
}
