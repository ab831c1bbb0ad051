// Checks the fence of a request, independent of the server framework.

import { formatFence } from '../lease/fence.ts';
import { GUARD_CODES } from '../support/codes/request-codes.ts';
import { rejectUnknownOptions } from '../support/options.ts';
import { FENCE_HEADER, type HeadersLike, RESOURCE_HEADER, readFenced } from './http-headers.ts';
import { describeStale, type Fenced, needFunction, needMethod, refuse } from './mark.ts';
import type { Marks } from './marks.ts';

/** Options of a guarded HTTP server. */
export interface HttpGuardOptions<Request> {
  /** Keeps the marks: `memoryMarks()` for one process, `postgresMarks(pool)` for several. */
  readonly marks: Marks;
  /** False: requests without fence headers pass unchecked. Default true. */
  readonly required?: boolean;
  /**
   * Returns the resource of a request. Requests that name another are refused. By default any is
   * accepted.
   */
  readonly resourceOf?: (request: Request) => string;
}

/** The body of a refusal (RFC 9457). */
export interface Problem {
  /** The URI of the problem's type. */
  readonly type: string;
  /** The problem in short. */
  readonly title: string;
  /** The HTTP status. */
  readonly status: 400 | 409 | 500 | 503;
  /** The stable code. */
  readonly code: ProblemCode;
  /** The explanation, for people. */
  readonly detail: string;
  /** The key of the lease. */
  readonly resource?: string;
  /** The fence that was shown. */
  readonly presented?: number;
  /** The greatest fence that the resource was shown. */
  readonly newest?: number;
}

/**
 * Why a request was refused.
 *
 * - `fence-missing`: it has no fence headers.
 * - `fence-malformed`: they cannot be read.
 * - `wrong-resource`: they name another resource.
 * - `stale-fence`: a later holder has shown a greater fence.
 * - `fence-busy`: requests of an earlier holder did not end in time.
 * - `permit-lost`: the permit was lost while the request was working.
 */
export type ProblemCode = keyof typeof GUARD_CODES;

const PROBLEM_TYPE = 'application/problem+json';

/** The result of `verifyFence`: `passed`, or `refused` with the `problem`. */
export type Verdict = Passed | { readonly kind: 'refused'; readonly problem: Problem };

/**
 * A request that was let in. No later holder is let in until it leaves.
 *
 * @example
 * const verdict = await verifyFence(request, { marks: memoryMarks() });
 * if (verdict.kind === 'passed') await verdict.leave();
 */
export interface Passed {
  /** Always `passed`. */
  readonly kind: 'passed';
  /** The key of the lease. Absent if the request passed without a fence. */
  readonly resource?: string;
  /** Aborts if later holders are no longer kept out while the request is working. */
  readonly lost?: AbortSignal;
  /**
   * Call it when the effect is done. Calling it again has no effect. Rejects with `PermitLost` if
   * the permit was lost.
   */
  leave(): Promise<void>;
}

const UNCHECKED: Verdict = { kind: 'passed', leave: async () => undefined };

const permits: WeakMap<object, Passed> = new WeakMap();

/**
 * Returns the permit of a guarded request, or undefined if it is not guarded.
 *
 * Check `lost` before a late effect. Call `leave` if the response will never be ended.
 *
 * @example
 * const permit = permitOf(request);
 * permit?.lost?.throwIfAborted();
 */
export function permitOf(request: object): Passed | undefined {
  return permits.get(request);
}

/**
 * Checks the fence headers of a request and lets it in. Use it for servers without an adapter here.
 *
 * Call `leave` when the effect is done. Throws the error of the marks if they cannot be read.
 *
 * @example
 * const verdict = await verifyFence(request, { marks: memoryMarks() });
 * if (verdict.kind === 'passed') await verdict.leave();
 * else console.error(verdict.problem.detail);
 */
export async function verifyFence<Request extends { readonly headers: HeadersLike }>(
  request: Request,
  options: HttpGuardOptions<Request>,
): Promise<Verdict> {
  checkOptions('verifyFence', options);
  const presented = readFenced(request.headers);
  if (presented.kind === 'malformed') return refused('fence-malformed', presented.why);
  if (presented.kind === 'absent') {
    const why = `The request has no fence. The handler did not run. Send ${RESOURCE_HEADER} and ${FENCE_HEADER}: the key and the fence of the lease you hold.`;
    return options.required === false ? UNCHECKED : refused('fence-missing', why);
  }
  const { fenced } = presented;
  const expected = options.resourceOf?.(request).normalize('NFC');
  if (expected !== undefined && expected !== fenced.key) {
    const why = `This request is about "${expected}", but its fence is for "${fenced.key}". The handler did not run. Send the fence of "${expected}".`;
    return refused('wrong-resource', why);
  }
  const verdict = await enter(options.marks, fenced);
  if (verdict.kind === 'passed') permits.set(request, verdict);
  return verdict;
}

async function enter(marks: Marks, fenced: Fenced): Promise<Verdict> {
  const result = await marks.enter(fenced);
  if (result.kind === 'entered') {
    const lost = result.lost === undefined ? {} : { lost: result.lost };
    return { kind: 'passed', resource: fenced.key, ...lost, leave: () => result.leave() };
  }
  if (result.kind === 'busy') {
    const why =
      `Fence ${formatFence(fenced.fence)} of "${fenced.key}" has shut out the earlier holder, ` +
      'but its requests have not ended. The handler did not run. Try again.';
    return refused('fence-busy', why, { resource: fenced.key });
  }
  const { resource, presented, newest } = result;
  return refused('stale-fence', describeStale(result), { resource, presented, newest });
}

type About = Pick<Problem, 'resource' | 'presented' | 'newest'>;

function refused(code: ProblemCode, detail: string, about: About = {}): Verdict {
  return { kind: 'refused', problem: problemOf(code, detail, about) };
}

/** The problem that replaces the response of a request whose permit was lost. */
export function permitLost({ resource = '' }: Passed): Problem {
  const detail =
    `The connection that kept later holders of "${resource}" out broke during this request. Its effect ` +
    'may have happened, beside effects of a later holder. Find out before you continue.';
  return problemOf('permit-lost', detail, { resource });
}

function problemOf(code: ProblemCode, detail: string, about: About): Problem {
  const type = `urn:holdfast:problem:${code}`;
  const { title, status } = GUARD_CODES[code];
  return { type, title, status, code, detail, ...about };
}

/** Returns the headers of a problem. A 503 includes when to retry. */
export function problemHeaders(problem: Problem): Record<string, string> {
  const retry = problem.status === 503 ? { 'retry-after': '1' } : {};
  return { 'content-type': PROBLEM_TYPE, ...retry };
}

export function checkOptions(
  what: string,
  options: Omit<HttpGuardOptions<never>, 'resourceOf'> & { readonly resourceOf?: unknown },
): void {
  rejectUnknownOptions(what, options, ['marks', 'required', 'resourceOf']);
  const { marks, required = true, resourceOf } = options;
  needMethod(marks, 'enter', {
    what: `${what}: \`marks\` keeps the highest fence of each resource`,
    pass: '{ marks: memoryMarks() }, or { marks: postgresMarks(pool) } for several processes',
  });
  if (typeof required !== 'boolean') {
    const pass = 'required: false to let requests without a fence pass, unchecked';
    refuse(required, { what: `${what}: \`required\` is true or false`, pass });
  }
  if (resourceOf === undefined) return;
  const pass = "resourceOf: (request) => 'account/' + request.params.id";
  needFunction(resourceOf, { what: `${what}: \`resourceOf\` is a function`, pass });
}

export function checkHandler(what: string, handler: unknown): void {
  const need = `${what}: the first argument is the handler that is guarded`;
  needFunction(handler, { what: need, pass: `${what}(handler, { marks })` });
}
