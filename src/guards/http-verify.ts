// Checks the fence of a request, independent of the server framework.

import { formatFence } from '../lease/fence.ts';
import { rejectUnknownOptions } from '../support/options.ts';
import { FENCE_HEADER, type HeadersLike, RESOURCE_HEADER, readFenced } from './http-headers.ts';
import { describeStale, type Fenced, needFunction, needMethod, refuse } from './mark.ts';
import type { Marks } from './marks.ts';

export interface HttpGuardOptions<Request> {
  readonly marks: Marks;
  /** False lets requests without the headers pass, unchecked. Default true. */
  readonly required?: boolean;
  /** The resource that a request is about. A request that names another one is refused. */
  readonly resourceOf?: (request: Request) => string;
}

/** RFC 9457. `code` is stable and meant for programs; `detail` is for people. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: 400 | 409 | 500 | 503;
  readonly code: ProblemCode;
  readonly detail: string;
  readonly resource?: string;
  readonly presented?: number;
  readonly newest?: number;
}

export type ProblemCode =
  | 'fence-missing'
  | 'fence-malformed'
  | 'wrong-resource'
  | 'stale-fence'
  | 'fence-busy'
  | 'permit-lost';

const PROBLEM_TYPE = 'application/problem+json';

export type Verdict = Passed | { readonly kind: 'refused'; readonly problem: Problem };

/** A request at work. */
export interface Passed {
  readonly kind: 'passed';
  /** Empty for a request that was let pass without a fence. */
  readonly resource?: string;
  /** Aborts when later holders are no longer kept out, though this request is at work. */
  readonly lost?: AbortSignal;
  /**
   * When the effect is done: until then no later holder enters. Calling it twice is harmless.
   * Rejects with PermitLost when `lost` came first.
   */
  leave(): Promise<void>;
}

const TITLES: Readonly<Record<ProblemCode, string>> = {
  'fence-missing': 'The request carries no fence',
  'fence-malformed': 'The fence of the request cannot be read',
  'wrong-resource': 'The fence is one of another resource',
  'stale-fence': 'Another holder owns the resource now',
  'fence-busy': 'Requests of an earlier holder are still at work',
  'permit-lost': 'A later holder may have entered while this request was at work',
};

const UNCHECKED: Verdict = { kind: 'passed', leave: async () => undefined };

const permits: WeakMap<object, Passed> = new WeakMap();

/**
 * For handlers: the permit of a guarded request. Look at `lost` before an effect that comes late; call
 * `leave` when the request is done with and its response will never be ended.
 */
export function permitOf(request: object): Passed | undefined {
  return permits.get(request);
}

export async function verifyFence<Request extends { readonly headers: HeadersLike }>(
  request: Request,
  options: HttpGuardOptions<Request>,
): Promise<Verdict> {
  checkOptions('verifyFence', options);
  const presented = readFenced(request.headers);
  if (presented.kind === 'malformed') return refused('fence-malformed', presented.why);
  if (presented.kind === 'absent') {
    const why = `Send ${RESOURCE_HEADER} and ${FENCE_HEADER}: the key and the fence of the lease you hold.`;
    return options.required === false ? UNCHECKED : refused('fence-missing', why);
  }
  const { fenced } = presented;
  const expected = options.resourceOf?.(request).normalize('NFC');
  if (expected !== undefined && expected !== fenced.key) {
    const why = `This request is about "${expected}", but the fence is one of "${fenced.key}".`;
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
      'but requests of that holder have not ended yet. Try again.';
    return refused('fence-busy', why, { resource: fenced.key });
  }
  const { resource, presented, newest } = result;
  return refused('stale-fence', describeStale(result), { resource, presented, newest });
}

const STATUS: Readonly<Record<ProblemCode, Problem['status']>> = {
  'fence-missing': 400,
  'fence-malformed': 400,
  'wrong-resource': 400,
  'stale-fence': 409,
  'fence-busy': 503,
  'permit-lost': 500,
};

type About = Pick<Problem, 'resource' | 'presented' | 'newest'>;

function refused(code: ProblemCode, detail: string, about: About = {}): Verdict {
  return { kind: 'refused', problem: problemOf(code, detail, about) };
}

/** The problem that replaces the response of a request whose permit was lost. */
export function permitLost({ resource = '' }: Passed): Problem {
  const detail =
    `What kept later holders of "${resource}" out broke while this request was at work. Its effect ` +
    'may have been done, beside those of a later holder. Find out before going on.';
  return problemOf('permit-lost', detail, { resource });
}

function problemOf(code: ProblemCode, detail: string, about: About): Problem {
  const type = `urn:holdfast:problem:${code}`;
  return { type, title: TITLES[code], status: STATUS[code], code, detail, ...about };
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
