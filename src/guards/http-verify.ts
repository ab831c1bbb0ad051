// What a guarded server does with a request, whatever framework it came through.

import { formatFence } from '../lease/fence.ts';
import { rejectUnknownOptions } from '../support/options.ts';
import { FENCE_HEADER, type HeadersLike, RESOURCE_HEADER, readFenced } from './http-headers.ts';
import { describeStale, type Fenced } from './mark.ts';
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
  readonly status: 400 | 409 | 503;
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
  | 'fence-busy';

export const PROBLEM_TYPE = 'application/problem+json';

export type Verdict =
  /** `leave` when the effect is done: until then no later holder enters. */
  | { readonly kind: 'passed'; leave(): Promise<void> }
  | { readonly kind: 'refused'; readonly problem: Problem };

const TITLES: Readonly<Record<ProblemCode, string>> = {
  'fence-missing': 'The request carries no fence',
  'fence-malformed': 'The fence of the request cannot be read',
  'wrong-resource': 'The fence is one of another resource',
  'stale-fence': 'Another holder owns the resource now',
  'fence-busy': 'Requests of an earlier holder are still at work',
};

const UNCHECKED: Verdict = { kind: 'passed', leave: async () => undefined };

export async function verifyFence<Request extends { readonly headers: HeadersLike }>(
  request: Request,
  options: HttpGuardOptions<Request>,
): Promise<Verdict> {
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
  return await enter(options.marks, fenced);
}

async function enter(marks: Marks, fenced: Fenced): Promise<Verdict> {
  const answer = await marks.enter(fenced);
  if (answer.kind === 'entered') return { kind: 'passed', leave: () => answer.leave() };
  if (answer.kind === 'busy') {
    const why =
      `Fence ${formatFence(fenced.fence)} of "${fenced.key}" has shut out the earlier holder, ` +
      'but requests of that holder have not ended yet. Try again.';
    return refused('fence-busy', why, { resource: fenced.key });
  }
  const { resource, presented, newest } = answer;
  return refused('stale-fence', describeStale(answer), { resource, presented, newest });
}

const STATUS: Readonly<Record<ProblemCode, Problem['status']>> = {
  'fence-missing': 400,
  'fence-malformed': 400,
  'wrong-resource': 400,
  'stale-fence': 409,
  'fence-busy': 503,
};

function refused(
  code: ProblemCode,
  detail: string,
  more: Pick<Problem, 'resource' | 'presented' | 'newest'> = {},
): Verdict {
  const type = `urn:holdfast:problem:${code}`;
  const problem = { type, title: TITLES[code], status: STATUS[code], code, detail, ...more };
  return { kind: 'refused', problem };
}

/** What goes with a problem: 503 says when to come back. */
export function problemHeaders(problem: Problem): Record<string, string> {
  const retry = problem.status === 503 ? { 'retry-after': '1' } : {};
  return { 'content-type': PROBLEM_TYPE, ...retry };
}

export function checkOptions(what: string, options: object): void {
  rejectUnknownOptions(what, options, ['marks', 'required', 'resourceOf']);
}
