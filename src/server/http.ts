// One listener: routes as data, registered with Fastify. A request is admitted, checked, handled; whatever
// goes wrong becomes a problem.

import { Readable } from 'node:stream';
import rateLimit from '@fastify/rate-limit';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { problemFrom, problemOf } from '../protocol/rest/problems.ts';
import { type Coordinator, ProblemReply, type Reply, type Route } from '../protocol/rest/route.ts';
import { type Checks, checksOf } from '../protocol/rest/validators.ts';
import type { Gate } from './gate.ts';
import type { ServerMetrics } from './metrics.ts';
import { requireOwnHost } from './same-host.ts';
import type { HttpLimits, ServerLog } from './server-options.ts';

export interface HttpParts {
  readonly coordinator: Coordinator;
  readonly gate: Gate;
  readonly routes: readonly Route[];
  readonly limits: HttpLimits;
  readonly log: ServerLog;
  readonly metrics: ServerMetrics | undefined;
  /** Keys are not asked for: only the owner's own pages may be. */
  readonly ownHostOnly: boolean;
  readonly trustProxy: boolean | string;
  readonly tls?: { readonly key: string; readonly cert: string };
  /** Aborts when the server stops: what is held open is let go. */
  readonly stopping: AbortSignal;
}

export async function openHttp(parts: HttpParts): Promise<FastifyInstance> {
  const { limits, routes } = parts;
  const app = fastify({
    bodyLimit: limits.bodyBytesMax,
    // A client that sends its request by drops is cut off (slow loris).
    requestTimeout: limits.requestMs,
    connectionTimeout: 0,
    keepAliveTimeout: 72_000,
    trustProxy: parts.trustProxy,
    exposeHeadRoutes: false,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 4_096 },
    frameworkErrors: (error: unknown, _request: unknown, reply: FastifyReply) =>
      sendProblem(parts, reply, fromFastify(error)),
    ...(parts.tls === undefined ? {} : { https: parts.tls }),
  } as object) as unknown as FastifyInstance;
  app.server.headersTimeout = limits.requestMs;
  await app.register(rateLimit, {
    max: limits.requestsPerMinute,
    timeWindow: 60_000,
    // By the id of a key, which is no secret: nothing of the secret is kept.
    keyGenerator: ({ headers, ip }) =>
      headers.authorization?.slice(0, 'Bearer hf_'.length + 16) ?? ip,
    errorResponseBuilder: (_request, { after }) =>
      new ProblemReply(429, 'over-rate', `Too many requests; try again in ${after}.`),
  });
  app.addContentTypeParser('application/octet-stream', { parseAs: 'buffer' }, (_, body, done) =>
    done(null, body),
  );
  app.setErrorHandler((error, _request, reply) => sendProblem(parts, reply, fromFastify(error)));
  app.setNotFoundHandler((request, reply) => {
    const detail = `There is no ${request.method} ${request.url.split('?')[0]} here.`;
    return sendProblem(parts, reply, new ProblemReply(404, 'route-unknown', detail));
  });
  app.addHook('onResponse', async (request, reply) => {
    const { name = 'none' } = request.routeOptions.config as { readonly name?: string };
    parts.metrics?.answered(name, reply.statusCode, reply.elapsedTime);
  });
  const open = { streams: 0 };
  for (const route of routes) addRoute(app, { ...parts, open }, route);
  return app;
}

interface OpenParts extends HttpParts {
  /** How many replies are held open now. */
  readonly open: { streams: number };
}

function addRoute(app: FastifyInstance, parts: OpenParts, route: Route): void {
  const checks = checksOf(route);
  app.route({
    method: route.method,
    url: route.path,
    config: { name: route.name } as object,
    handler: (request, reply) => answer(parts, { route, checks }, { request, reply }),
  });
}

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

async function answer(
  parts: OpenParts,
  { route, checks }: { readonly route: Route; readonly checks: Checks },
  { request, reply }: Exchange,
): Promise<unknown> {
  const header = (name: string): string | undefined => oneOf(request.headers[name]);
  if (parts.ownHostOnly) requireOwnHost(header('host'), header('origin'));
  const caller = await parts.gate.admit(route, {
    authorization: header('authorization'),
    project: header('holdfast-project'),
  });
  const call = {
    params: checks.params(request.params) as never,
    query: checks.query(request.query) as never,
    body: checks.body(request.body) as never,
    caller,
    header,
    signal: route.isLong === true ? signalOf(reply, parts.stopping) : parts.stopping,
  };
  if (route.isLong !== true) return send(reply, await route.handle(parts.coordinator, call));
  if (parts.open.streams >= parts.limits.openMax) {
    const detail = `This coordinator holds ${parts.limits.openMax} requests open, which is its limit. Ask again later, or without waitMs.`;
    throw new ProblemReply(429, 'too-many-open', detail);
  }
  hold(parts, 1);
  reply.raw.once('close', () => hold(parts, -1));
  return send(reply, await route.handle(parts.coordinator, call));
}

function hold({ open, metrics }: OpenParts, by: number): void {
  open.streams += by;
  metrics?.held(open.streams);
}

function send(reply: FastifyReply, { status, body, headers, raw, stream }: Reply): unknown {
  reply.code(status).headers(headers ?? {});
  if (stream !== undefined) {
    reply.headers({ 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    return reply.send(Readable.from(stream, { objectMode: false }));
  }
  if (raw !== undefined) return reply.type(raw.type).send(Buffer.from(raw.bytes));
  return body === undefined
    ? reply.send()
    : reply.type('application/json').send(JSON.stringify(body));
}

function sendProblem(parts: HttpParts, reply: FastifyReply, error: unknown): unknown {
  const { isFault, ...problem } = problemFrom(error);
  if (isFault) parts.log.fault(problem.code, error);
  if (problem.status === 401) reply.header('www-authenticate', 'Bearer');
  return reply.code(problem.status).type('application/problem+json').send(JSON.stringify(problem));
}

/** What Fastify itself refuses: a body that is no JSON, too large, of another type. */
function fromFastify(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ProblemReply) return error;
  const { statusCode } = error as { statusCode?: unknown };
  if (typeof statusCode !== 'number' || statusCode < 400 || statusCode >= 500) return error;
  const { code } = problemOf(statusCode, CODES[statusCode] ?? 'invalid-input', '');
  return new ProblemReply(statusCode, code, `${error.message}. Nothing was done.`);
}

const CODES: Readonly<Record<number, string>> = {
  413: 'payload-too-large',
  415: 'type-unknown',
  429: 'over-rate',
};

function signalOf(reply: FastifyReply, stopping: AbortSignal): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  return AbortSignal.any([gone.signal, stopping]);
}

function oneOf(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'object' ? value[0] : value;
}
