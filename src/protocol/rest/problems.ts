// Refusals and faults as problems: the same code and sentence as embedded callers get, and a status.

import { ActRefused, SubmitRefused, TemplateRefused } from '../../engine/failures.ts';
import type { ExecutionRefusal } from '../../execution/refusal.ts';
import { describeExecutionRefusal } from '../../execution/refusal.ts';
import { Fault, InvalidInput, OutcomeUnknown, StoreUnavailable } from '../../support/fault.ts';
import type { Problem } from '../messages/problem.ts';
import { ProblemReply } from './route.ts';

const TITLES: Readonly<Record<number, string>> = {
  400: 'The request cannot be understood',
  401: 'A key is required',
  403: 'The key does not allow this',
  404: 'Not found',
  405: 'Not for this method',
  409: 'Refused',
  413: 'Too large',
  415: 'Not a type that is taken here',
  422: 'Refused',
  429: 'Too many requests',
  500: 'A fault of the coordinator',
  503: 'The store cannot be reached',
};

export function problemOf(status: number, code: string, detail: string): Problem {
  const title = TITLES[status] ?? 'Refused';
  return { type: `urn:holdfast:problem:${code}`, title, status, code, detail };
}

const UNKNOWN: ReadonlySet<ExecutionRefusal['why']> = new Set<ExecutionRefusal['why']>([
  'execution-unknown',
  'template-unknown',
  'schedule-unknown',
  'await-unknown',
]);

export function refused(refusal: ExecutionRefusal): ProblemReply {
  const status = UNKNOWN.has(refusal.why) ? 404 : 409;
  return new ProblemReply(status, refusal.why, describeExecutionRefusal(refusal), refusal);
}

export function notFound(what: string): ProblemReply {
  return new ProblemReply(404, 'not-found', `There is no ${what} in this project.`);
}

/** Total: what nobody expected is a 500 that says nothing of the inside. */
export function problemFrom(error: unknown): Problem & { readonly isFault: boolean } {
  if (error instanceof ProblemReply) {
    const { status, code, message, refusal } = error;
    const found = problemOf(status, code, message);
    return { ...found, ...(refusal === undefined ? {} : { refusal }), isFault: false };
  }
  if (
    error instanceof SubmitRefused ||
    error instanceof ActRefused ||
    error instanceof TemplateRefused
  ) {
    return problemFrom(refused(error.refusal));
  }
  if (error instanceof InvalidInput) {
    return { ...problemOf(400, error.code, error.message), isFault: false };
  }
  if (error instanceof StoreUnavailable || error instanceof OutcomeUnknown) {
    return { ...problemOf(503, error.code, error.message), isFault: true };
  }
  if (error instanceof Fault && error.code === 'payload-too-large') {
    return { ...problemOf(413, error.code, error.message), isFault: false };
  }
  if (error instanceof Fault && error.code === 'execution-unknown') {
    return { ...problemOf(404, error.code, error.message), isFault: false };
  }
  return {
    ...problemOf(500, 'fault', 'The coordinator could not do this. Its log says why.'),
    isFault: true,
  };
}
