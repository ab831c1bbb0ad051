// The fence at an HTTP server: middleware and a wrapper for Express, a hook for Fastify, and a
// wrapper for handlers that turn a Request into a Response. It imports nothing from either
// framework.
//
// A request is under way until its handler is done, even if its client has disconnected. No later
// holder enters while it is, so a pause between the check and the effect is safe.

import { finished, type Readable } from 'node:stream';
import type { HeadersLike } from './http-headers.ts';
import {
  checkHandler,
  checkOptions,
  type HttpGuardOptions,
  type Passed,
  type Problem,
  permitLost,
  problemHeaders,
  verifyFence,
} from './http-verify.ts';
import { needMethod } from './mark.ts';

export {
  admitAt,
  FENCE_HEADER,
  type Fetch,
  fencedFetch,
  fenceHeaders,
  type HeadersLike,
  type Presented,
  RESOURCE_HEADER,
  readFenced,
  readStale,
} from './http-headers.ts';
export {
  type HttpGuardOptions,
  type Passed,
  type Problem,
  type ProblemCode,
  permitOf,
  type Verdict,
  verifyFence,
} from './http-verify.ts';
export { type Fenced, type GuardResult, type Stale, StaleFence } from './mark.ts';
export {
  type Busy,
  type Entered,
  type EnterResult,
  type KeepResult,
  type Marks,
  type MemoryMarksOptions,
  memoryMarks,
  PermitLost,
} from './marks.ts';

type FetchHandler = (request: Request) => Response | Promise<Response>;

/**
 * Guards a handler that takes a `Request` and returns a `Response`.
 *
 * Refusals are responses with a problem body. Throws `InvalidInput` for invalid arguments.
 *
 * @example
 * const marks = memoryMarks();
 * export const POST = fencedHandler(async (request) => new Response(await request.text()), { marks });
 */
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
      // Report the handler's own error.
      await verdict.leave().catch(() => undefined);
      throw error;
    }
    return await verdict.leave().then(
      () => response,
      async () => {
        await response.body?.cancel();
        return problemResponse(permitLost(verdict));
      },
    );
  };
}

function problemResponse(problem: Problem): Response {
  const headers = problemHeaders(problem);
  return new Response(JSON.stringify(problem), { status: problem.status, headers });
}

/** A request of Node, Express or another server of that kind. */
export interface IncomingRequest {
  /** The headers. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

type Next = (error?: unknown) => void;

/**
 * Makes Express middleware that guards the routes after it. Also for other servers of Node's kind.
 *
 * A request counts as working until its response has ended. Throws `InvalidInput` for invalid
 * options.
 *
 * @example
 * import express from 'express';
 *
 * express().use('/invoices', expressFence({ marks: memoryMarks() }));
 */
export function expressFence<Incoming extends IncomingRequest>(
  options: HttpGuardOptions<Incoming>,
): (request: Incoming, response: OutgoingResponse, next: Next) => void {
  checkOptions('expressFence', options);
  return (request, response, next) => {
    verifyFence(request, options).then((verdict) => {
      if (verdict.kind === 'refused') return result(response, verdict.problem);
      leaveWhenAnswered(response, verdict);
      next();
    }, next);
  };
}

/**
 * Guards one handler of Express. The request counts as working until the handler's promise settles.
 *
 * Throws `InvalidInput` for invalid arguments.
 *
 * @example
 * import express from 'express';
 *
 * const handler = async (_request: express.Request, response: express.Response) => {
 *   response.end('paid');
 * };
 * express().post('/invoices', fencedRoute(handler, { marks: memoryMarks() }));
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
        if (verdict.kind === 'refused') return result(response, verdict.problem);
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

/**
 * Makes a Fastify `onRoute` hook that replaces the `handler` of each route that is added after it
 * by a guarded one.
 *
 * Throws `InvalidInput` for invalid options.
 *
 * @example
 * import fastify from 'fastify';
 *
 * const app = fastify();
 * app.addHook('onRoute', fastifyFence({ marks: memoryMarks() }));
 * app.post('/invoices', async () => 'paid');
 */
export function fastifyFence<Incoming extends { readonly headers: HeadersLike }>(
  options: HttpGuardOptions<Incoming>,
): (route: { handler: unknown }) => void {
  checkOptions('fastifyFence', options);
  return (route) => {
    // With any other hook, the routes would silently stay unguarded.
    const what = 'fastifyFence guards routes as they are added, so it needs the Fastify instance';
    needMethod(route, 'handler', { what, pass: "app.addHook('onRoute', fastifyFence({ marks }))" });
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

/**
 * A handler that sends the response itself is done when it has sent it. One that returns a value is
 * done then.
 */
async function settled(
  handle: () => unknown,
  reply: FastifyReply,
  permit: Passed,
): Promise<unknown> {
  const isAnswered = answered(reply.raw, permit);
  const value = await handedOver(handle, reply, permit);
  if (isComplete(value)) await permit.leave();
  else void isAnswered.then(() => leaveOrBreak(reply.raw, permit));
  return value === BY_ITSELF ? reply : value;
}

const BY_ITSELF = Symbol('the handler calls reply.send');

async function handedOver(
  handle: () => unknown,
  reply: FastifyReply,
  permit: Passed,
): Promise<unknown> {
  try {
    const returned = handle();
    // Do not await the reply object: it counts as sent when the client disconnects.
    return returned === undefined || returned === reply ? BY_ITSELF : await returned;
  } catch (error) {
    // Report the handler's own error.
    await permit.leave().catch(() => undefined);
    throw error;
  }
}

/**
 * A handler that called reply.send returns undefined. A stream is under way until it has been read.
 */
function isComplete(value: unknown): boolean {
  if (value === undefined || value === BY_ITSELF || value instanceof Response) return false;
  return typeof value !== 'object' || value === null || !('pipe' in value || 'getReader' in value);
}

// Detects when a handler that uses Node's response object is done, and replaces the response if the
// permit was lost.

/** The response of a server of Node's kind. */
export interface OutgoingResponse {
  /** The HTTP status. */
  statusCode: number;
  /** True once the headers were sent. */
  readonly headersSent: boolean;
  /** True once the connection is gone. */
  readonly destroyed: boolean;
  /** Sets a header. */
  setHeader(name: string, value: string): unknown;
  /** Removes a header. */
  removeHeader(name: string): unknown;
  /** Sends the response. */
  end(body?: string): unknown;
  /** Closes the connection. */
  destroy(): unknown;
  /** Listens for streams that are piped into the response. */
  on(event: 'pipe' | 'unpipe', listener: (source: Readable) => void): unknown;
  /** Listens for the end of the connection. */
  once(event: 'close', listener: () => void): unknown;
}

function result(response: OutgoingResponse, problem: Problem): void {
  response.statusCode = problem.status;
  for (const [name, value] of Object.entries(problemHeaders(problem))) {
    response.setHeader(name, value);
  }
  response.end(JSON.stringify(problem));
}

/**
 * Leaves when the handler has responded. Call this before the handler, which may respond at once.
 */
function leaveWhenAnswered(response: OutgoingResponse, permit: Passed): void {
  void answered(response, permit).then(() => leaveOrBreak(response, permit));
}

/** It is too late for another response. Only a broken connection can still signal the problem. */
async function leaveOrBreak(response: OutgoingResponse, permit: Passed): Promise<void> {
  await permit.leave().catch(() => {
    if (!isFailure(response)) response.destroy();
  });
}

function isFailure({ statusCode }: OutgoingResponse): boolean {
  return statusCode >= 500;
}

/**
 * Resolves when the response has ended, or when no code is left that would end it. A disconnected
 * client alone is not enough: the handler is still at work and ends the response later.
 */
async function answered(response: OutgoingResponse, permit: Passed): Promise<void> {
  return await new Promise((resolve) => {
    onEnd(response, permit, resolve);
    onAbandoned(response, resolve);
  });
}

function onEnd(response: OutgoingResponse, permit: Passed, callback: () => void): void {
  const end = response.end;
  response.end = function ended(this: OutgoingResponse, ...args: [body?: string]) {
    callback();
    if (permit.lost?.aborted !== true || isFailure(response)) return end.apply(this, args);
    response.end = end;
    return answerLost(response, permit);
  };
}

/** Headers that describe the body of the discarded response. */
const ABOUT_THE_BODY: readonly string[] = ['content-length', 'content-encoding', 'etag'];

/**
 * The effect is done, but perhaps beside those of a later holder. The response must not report
 * success.
 */
function answerLost(response: OutgoingResponse, permit: Passed): unknown {
  if (response.headersSent) return response.destroy();
  for (const name of ABOUT_THE_BODY) response.removeHeader(name);
  result(response, permitLost(permit));
  return response;
}

/**
 * A handler that pipes a stream into its response lets the stream end it, and a stream does not end
 * a closed response. So the handler is done when those streams are over.
 */
function onAbandoned(response: OutgoingResponse, callback: () => void): void {
  const feeding = new Set<Readable>();
  let isClosed = response.destroyed;
  const whenOver = (source: Readable) => {
    finished(source, { writable: false }, () => {
      feeding.delete(source);
      if (feeding.size === 0) callback();
    });
  };
  response.on('pipe', (source) => {
    feeding.add(source);
    if (isClosed) whenOver(source);
  });
  response.on('unpipe', (source) => {
    if (isClosed || response.destroyed) void destroyUnread(source);
    else feeding.delete(source);
  });
  response.once('close', () => {
    isClosed = true;
    for (const source of [...feeding]) whenOver(source);
  });
}

/** `pipeline` destroys its streams. `pipe` leaves a stream that nothing will ever read. */
async function destroyUnread(source: Readable): Promise<void> {
  // Wait until the pipe's own listeners are gone.
  await undefined;
  const readers = source.listenerCount('data') + source.listenerCount('readable');
  if (readers === 0 && source.readableFlowing === false) source.destroy();
}
