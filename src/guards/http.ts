// The fence at an HTTP server: middleware and a wrapper for Express, a hook for Fastify, a wrapper
// for handlers that turn a Request into a Response. Nothing is imported from either framework.
//
// A request counts as at work until its handler is done, also when its client is gone by then. As
// long as it is, no later holder is let in: the pause between the check and the effect is covered.

import { needMethod } from './arguments.ts';
import type { HeadersLike } from './http-headers.ts';
import {
  answer,
  answered,
  leaveOrBreak,
  leaveWhenAnswered,
  type OutgoingResponse,
} from './http-response.ts';
import {
  checkHandler,
  checkOptions,
  type HttpGuardOptions,
  type Passed,
  type Problem,
  placeLost,
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
export type { OutgoingResponse } from './http-response.ts';
export {
  type HttpGuardOptions,
  type Passed,
  type Problem,
  type ProblemCode,
  placeOf,
  type Verdict,
  verifyFence,
} from './http-verify.ts';
export { type Fenced, type GuardAnswer, type Stale, StaleFence } from './mark.ts';
export {
  type Busy,
  type EnterAnswer,
  type Entered,
  type KeepAnswer,
  type Marks,
  type MemoryMarksOptions,
  memoryMarks,
  PlaceLost,
} from './marks.ts';

type FetchHandler = (request: Request) => Response | Promise<Response>;

/** `serve(fencedHandler(handler, { marks }))` */
export function fencedHandler(
  handler: FetchHandler,
  options: HttpGuardOptions<Request>,
): (request: Request) => Promise<Response> {
  checkHandler('fencedHandler', handler);
  checkOptions('fencedHandler', options);
  return async (request) => {
    const verdict = await verifyFence(request, options);
    if (verdict.kind === 'refused') return problemResponse(verdict.problem);
    let response: Response;
    try {
      response = await handler(request);
    } catch (error) {
      // The handler's own error is the one to show.
      await verdict.leave().catch(() => undefined);
      throw error;
    }
    return await verdict.leave().then(
      () => response,
      async () => {
        await response.body?.cancel();
        return problemResponse(placeLost(verdict));
      },
    );
  };
}

function problemResponse(problem: Problem): Response {
  const headers = problemHeaders(problem);
  return new Response(JSON.stringify(problem), { status: problem.status, headers });
}

export interface IncomingRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

type Next = (error?: unknown) => void;

/** `app.use('/invoices', expressFence({ marks }))`. Also for other servers of Node's own kind. */
export function expressFence<Incoming extends IncomingRequest>(
  options: HttpGuardOptions<Incoming>,
): (request: Incoming, response: OutgoingResponse, next: Next) => void {
  checkOptions('expressFence', options);
  return (request, response, next) => {
    verifyFence(request, options).then((verdict) => {
      if (verdict.kind === 'refused') return answer(response, verdict.problem);
      leaveWhenAnswered(response, verdict);
      next();
    }, next);
  };
}

/**
 * `app.post('/invoices', fencedRoute(handler, { marks }))`: guards one handler whose promise says when
 * it is done. Its response then need not be ended by hand when the client goes away.
 */
export function fencedRoute<Incoming extends IncomingRequest, Outgoing extends OutgoingResponse>(
  handler: (request: Incoming, response: Outgoing) => Promise<unknown>,
  options: HttpGuardOptions<Incoming>,
): (request: Incoming, response: Outgoing, next: Next) => void {
  checkHandler('fencedRoute', handler);
  checkOptions('fencedRoute', options);
  return (request, response, next) => {
    verifyFence(request, options)
      .then(async (verdict) => {
        if (verdict.kind === 'refused') return answer(response, verdict.problem);
        const isOver = Promise.race([answered(response, verdict), closed(response)]);
        try {
          await handler(request, response);
          await isOver;
        } finally {
          await leaveOrBreak(response, verdict);
        }
      })
      .catch(next);
  };
}

async function closed(response: OutgoingResponse): Promise<void> {
  if (response.destroyed) return;
  await new Promise<void>((resolve) => {
    response.once('close', resolve);
  });
}

/** `app.addHook('onRoute', fastifyFence({ marks }))`, before the routes that it is to guard. */
export function fastifyFence<Incoming extends { readonly headers: HeadersLike }>(
  options: HttpGuardOptions<Incoming>,
): (route: { handler: unknown }) => void {
  checkOptions('fastifyFence', options);
  return (route) => {
    // Any other hook would leave the routes unguarded, without a word.
    const what = 'fastifyFence guards routes as they are added, and needs to be told of them';
    needMethod(route, 'handler', {
      what,
      pass: "app.addHook('onRoute', fastifyFence({ marks }))",
    });
    const handler = route.handler as FastifyHandler<Incoming>;
    route.handler = async function fenced(this: unknown, request: Incoming, reply: FastifyReply) {
      const verdict = await verifyFence(request, options);
      if (verdict.kind === 'refused') {
        const { problem } = verdict;
        reply.code(problem.status).headers(problemHeaders(problem)).send(JSON.stringify(problem));
        return reply;
      }
      return await settled(() => handler.call(this, request, reply), reply, verdict);
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

/** A handler that answers by itself is done when it has; one that returns an answer is done then. */
async function settled(
  handle: () => unknown,
  reply: FastifyReply,
  place: Passed,
): Promise<unknown> {
  const isAnswered = answered(reply.raw, place);
  const value = await handedOver(handle, reply, place);
  if (isWhole(value)) await place.leave();
  else void isAnswered.then(() => leaveOrBreak(reply.raw, place));
  return value === BY_ITSELF ? reply : value;
}

const BY_ITSELF = Symbol('the handler calls reply.send');

async function handedOver(
  handle: () => unknown,
  reply: FastifyReply,
  place: Passed,
): Promise<unknown> {
  try {
    const returned = handle();
    // A reply is not awaited: it counts as sent when its client is merely gone.
    return returned === undefined || returned === reply ? BY_ITSELF : await returned;
  } catch (error) {
    // The handler's own error is the one to show.
    await place.leave().catch(() => undefined);
    throw error;
  }
}

/** Undefined comes from a handler that called reply.send; a stream is at work while it is read. */
function isWhole(value: unknown): boolean {
  if (value === undefined || value === BY_ITSELF || value instanceof Response) return false;
  return typeof value !== 'object' || value === null || !('pipe' in value || 'getReader' in value);
}
