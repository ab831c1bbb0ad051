// The fence at an HTTP server: middleware for Express, a hook for Fastify, a wrapper for handlers
// that turn a Request into a Response. Nothing is imported from either framework.
//
// A request counts as at work until its handler is done, also when its client is gone by then. As
// long as it is, no later holder is let in: the pause between the check and the effect is covered.

import type { HeadersLike } from './http-headers.ts';
import {
  checkOptions,
  type HttpGuardOptions,
  type Problem,
  problemHeaders,
  verifyFence,
} from './http-verify.ts';

export { admitAt, type Fetch, fencedFetch, readStale } from './http-client.ts';
export {
  FENCE_HEADER,
  fenceHeaders,
  type HeadersLike,
  type Presented,
  RESOURCE_HEADER,
  readFenced,
} from './http-headers.ts';
export {
  type HttpGuardOptions,
  type Problem,
  type ProblemCode,
  type Verdict,
  verifyFence,
} from './http-verify.ts';
export { type Fenced, type GuardAnswer, type Stale, StaleFence } from './mark.ts';
export {
  type Busy,
  type EnterAnswer,
  type Entered,
  type Marks,
  type MemoryMarksOptions,
  memoryMarks,
} from './marks.ts';

type FetchHandler = (request: Request) => Response | Promise<Response>;

/** `serve(fencedHandler(handler, { marks }))` */
export function fencedHandler(
  handler: FetchHandler,
  options: HttpGuardOptions<Request>,
): (request: Request) => Promise<Response> {
  checkOptions('fencedHandler', options);
  return async (request) => {
    const verdict = await verifyFence(request, options);
    if (verdict.kind === 'refused') {
      const { problem } = verdict;
      const headers = problemHeaders(problem);
      return new Response(JSON.stringify(problem), { status: problem.status, headers });
    }
    try {
      return await handler(request);
    } finally {
      await verdict.leave();
    }
  };
}

export interface IncomingRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** Of Node's ServerResponse, what a refusal needs, and the call that says a handler is done. */
export interface OutgoingResponse {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  end(body?: string): unknown;
}

/** `app.use('/invoices', expressFence({ marks }))`. Also for other servers of Node's own kind. */
export function expressFence<Incoming extends IncomingRequest>(
  options: HttpGuardOptions<Incoming>,
): (request: Incoming, response: OutgoingResponse, next: (error?: unknown) => void) => void {
  checkOptions('expressFence', options);
  return (request, response, next) => {
    verifyFence(request, options).then((verdict) => {
      if (verdict.kind === 'refused') return answer(response, verdict.problem);
      onEnd(response, () => verdict.leave());
      next();
    }, next);
  };
}

/** `app.addHook('onRoute', fastifyFence({ marks }))`, before the routes that it is to guard. */
export function fastifyFence<Incoming extends { readonly headers: HeadersLike }>(
  options: HttpGuardOptions<Incoming>,
): (route: { handler: unknown }) => void {
  checkOptions('fastifyFence', options);
  return (route) => {
    const handler = route.handler as FastifyHandler<Incoming>;
    route.handler = async function fenced(this: unknown, request: Incoming, reply: FastifyReply) {
      const verdict = await verifyFence(request, options);
      if (verdict.kind === 'refused') {
        const { problem } = verdict;
        reply.code(problem.status).headers(problemHeaders(problem)).send(JSON.stringify(problem));
        return reply;
      }
      return await settled(handler.call(this, request, reply), reply, () => verdict.leave());
    };
  };
}

type FastifyHandler<Incoming> = (this: unknown, request: Incoming, reply: FastifyReply) => unknown;

interface FastifyReply {
  readonly raw: OutgoingResponse;
  code(status: number): FastifyReply;
  headers(values: Record<string, string>): FastifyReply;
  send(body: string): unknown;
}

/** A handler that answers by a callback is done when it answers; others when their promise is. */
async function settled(
  returned: unknown,
  reply: FastifyReply,
  leave: () => Promise<void>,
): Promise<unknown> {
  if (returned === undefined || returned === reply) {
    onEnd(reply.raw, leave);
    return reply;
  }
  try {
    return await returned;
  } finally {
    await leave();
  }
}

function answer(response: OutgoingResponse, problem: Problem): void {
  response.statusCode = problem.status;
  for (const [name, value] of Object.entries(problemHeaders(problem))) {
    response.setHeader(name, value);
  }
  response.end(JSON.stringify(problem));
}

/**
 * Not the events `finish` and `close`: a client that goes away closes the response while its
 * handler is still at work.
 */
function onEnd(response: OutgoingResponse, leave: () => Promise<void>): void {
  const end = response.end;
  response.end = function ended(this: OutgoingResponse, ...args: [body?: string]) {
    leave().catch(() => undefined);
    return end.apply(this, args);
  };
}
