// One listener: registers the routes with Fastify. It admits a request, checks it and handles it;
// any error becomes a problem.

import { Readable } from 'node:stream';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { DOWNLOAD } from '../protocol/messages/operation.ts';
import { problemFrom } from '../protocol/rest/problems.ts';
import {
  type Caller,
  type Coordinator,
  callerGone,
  isHeld,
  networkShare,
  ProblemReply,
  projectShare,
  type Reply,
  type Route,
  shareNameOf,
  tooMuchUnread,
  weightOf,
} from '../protocol/rest/route.ts';
import { ROUTES } from '../protocol/rest/routes.ts';
import { type CallCheck, callCheckOf } from '../protocol/rest/validators.ts';
import type { Code } from '../support/codes/catalogue.ts';
import { type ByteTurns, LARGE_BYTES, weightOfBytes } from '../support/turns.ts';
import { Admission, type Entrance, oneOf } from './admission.ts';
import {
  addBodyParsers,
  beginBody,
  bodyBytesMaxOf,
  bodyTurnsOf,
  holdBody,
  lengthOf,
  releaseBody,
  takeUntilClosed,
  withoutTinyPieces,
} from './bodies.ts';
import { compressedText, encodingFor } from './compression.ts';
import { networkOf } from './connections.ts';
import { addConsole, type ConsoleFiles } from './console-files.ts';
import { addDocs } from './docs-files.ts';
import { KEY_CACHE_MS, requireOwnHost } from './gate.ts';
import type { ServerMetrics } from './metrics.ts';
import { faultLogOf, type ServerLog, type ServerOptions } from './server-options.ts';
import { asksForStream, routeUpgrades, streamOpener } from './stream.ts';

export interface HttpParts extends Entrance {
  readonly coordinator: Coordinator;
  readonly routes: readonly Route[];
  /** The place of the admin routes, for callers that ask on the wrong listener. */
  readonly admin: NonNullable<ServerOptions['admin']>;
  readonly log: ServerLog;
  readonly logRequests: boolean;
  readonly logIdle: boolean;
  readonly metrics: ServerMetrics | undefined;
  /** `none`: this listener has no console. */
  readonly console: ConsoleFiles | 'none' | undefined;
  /** True: this listener serves the documentation. */
  readonly docs: boolean;
  /** Without keys, accepts requests only from the owner's own pages. */
  readonly ownHostOnly: boolean;
  readonly trustProxy: boolean | string;
  readonly tls?: NonNullable<ServerOptions['tls']>;
  /** Aborts when the server stops, which releases requests held open. */
  readonly stopping: AbortSignal;
}

export async function openHttp(parts: HttpParts): Promise<FastifyInstance> {
  const { limits, routes } = parts;
  const app = fastify({
    bodyLimit: limits.bodyBytesMax,
    // Closes the connection of a client that sends its request too slowly (slow loris).
    requestTimeout: limits.requestMs,
    connectionTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    trustProxy: parts.trustProxy,
    exposeHeadRoutes: false,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 4_096 },
    frameworkErrors: (error: unknown, _request: unknown, reply: FastifyReply) =>
      sendProblem(parts, reply, { error: fromFastify(error), isStranger: true }),
    ...listening(parts),
  } as object) as unknown as FastifyInstance;
  limitConnections(app.server, parts);
  const admission = new Admission(parts);
  addBodyParsers(app, parts.coordinator, (request) => admission.caller(request).project);
  app.setErrorHandler((error, request, reply) => {
    const isStranger = !parts.ownHostOnly && admission.known(request)?.key === undefined;
    return sendProblem(parts, reply, { error: fromFastify(error), isStranger });
  });
  app.addHook('onRequest', (request, reply, done) => {
    holdBody(request, reply);
    if (parts.pipelining.began(request.raw.socket, reply.raw)) done();
  });
  // Runs first, even for unknown routes: a foreign page must not learn that a coordinator is here.
  app.addHook('onRequest', async ({ headers }) => {
    if (parts.ownHostOnly) requireOwnHost(headers.host, headers.origin);
  });
  // Unknown routes, the console and its documentation belong to no project.
  const ofProjects = new Set(routes.map(({ name }) => name));
  app.addHook('onRequest', async (request, reply) => {
    const { name = '' } = request.routeOptions.config as { readonly name?: string };
    if (!ofProjects.has(name)) await beginStranger(parts, { request, reply });
  });
  // A hook instead of Fastify's 404 handler, which would read and parse the body first.
  app.addHook('onRequest', async (request) => {
    if (!request.is404) return;
    await parts.limiter.count(request.ip);
    const { method, url } = request;
    const path = url.split('?')[0] ?? '';
    const unknown = new ProblemReply(
      'route-unknown',
      `There is no route ${method} ${path}. Nothing was done. Check the URL and the version of the coordinator.`,
    );
    throw adminProblem(parts.admin, routes, { method, path }) ?? unknown;
  });
  const requests = parts.logRequests
    ? new RequestLog(parts.log, (request) => admission.known(request))
    : undefined;
  app.addHook('onResponse', async (request, reply) => {
    const { name = 'none' } = request.routeOptions.config as { readonly name?: string };
    parts.metrics?.answered(name, reply.statusCode, reply.elapsedTime);
    if (parts.logIdle || !IDLE.has(request)) requests?.answered(request, reply);
  });
  app.addHook('preParsing', async (request, _, body) =>
    withoutTinyPieces(request, body as Readable),
  );
  const bodies = bodyTurnsOf(limits);
  const openStream = streamOpener({ ...parts, admission, bodies });
  const open = { ...parts, admission, bodies, openStream };
  for (const route of routes) addRoute(app, open, route);
  routeUpgrades(app);
  if (parts.console !== 'none') addConsole(app, parts.console);
  if (parts.docs) addDocs(app);
  return app;
}

const KEEP_ALIVE_MS = 72_000;
/** The bytes that a request or response buffers before its sender must wait. */
const BUFFERED_BYTES = 16 * 1024;
/** The number of checks for slow clients within their time limit. */
const CHECKS_PER_REQUEST = 2;

function listening({ limits, tls }: HttpParts): object {
  const http = {
    // The default is 64 KiB, which is 65,536 chunks of one byte.
    highWaterMark: BUFFERED_BYTES,
    shouldUpgradeCallback: asksForStream,
    connectionsCheckingInterval: Math.ceil(limits.requestMs / CHECKS_PER_REQUEST),
  };
  if (tls === undefined) return { http };
  return { https: { minVersion: 'TLSv1.2', ...http, ...tls, handshakeTimeout: limits.requestMs } };
}

function limitConnections(
  server: FastifyInstance['server'],
  { limits, addresses }: Pick<HttpParts, 'limits' | 'addresses'>,
): void {
  server.on('connection', (socket) => addresses.came(socket));
  server.headersTimeout = limits.requestMs;
  server.maxConnections = limits.connectionsMax;
  // Drop clients that stop reading a response. Idle connections with nothing to send may stay open.
  server.timeout = limits.requestMs;
  server.on('timeout', (socket) => {
    if (socket.writableLength > 0) socket.destroy();
  });
}

interface OpenParts extends HttpParts {
  readonly admission: Admission;
  /** The large bodies that arrive or wait to be parsed, by project. */
  readonly bodies: ByteTurns;
  readonly openStream: (exchange: HttpExchange) => void;
}

function addRoute(app: FastifyInstance, parts: OpenParts, route: Route): void {
  const check = callCheckOf(route);
  const weight = weightOf({ ...route, reply: route.responses[200]?.schema });
  const bytesMax = bodyBytesMaxOf(route, parts.limits);
  app.route({
    method: route.method,
    url: route.path,
    config: { name: route.name } as object,
    bodyLimit: bytesMax,
    onRequest: async (request, reply) => {
      const { shares } = parts.coordinator;
      try {
        await parts.admission.admit(route, request);
      } catch (error) {
        // Refused requests cost time too, whatever their key.
        await beginStranger(parts, { request, reply });
        throw error;
      }
      if (route.allows === 'public') {
        await beginStranger(parts, { request, reply }, weight);
        releaseBody(request);
        return;
      }
      const { project } = parts.admission.caller(request);
      await shares.begin(
        shareNameOf(route.name, project),
        weight + weightOfBytes(lengthOf(request)),
      );
      requireCaller(reply);
      await beginBody(parts.bodies, { request, reply, project, bytesMax });
      requireCaller(reply);
      // A download stays in memory until its caller has read it, so only some begin at once.
      const { unread, downloadBytesMax: bytes } = parts.coordinator;
      if (isDownload(route)) await takeUntilClosed(unread, { reply, project, bytes });
      requireCaller(reply);
      releaseBody(request);
    },
    handler: (request, reply) => result(parts, { route, check }, { request, reply }),
  });
}

/** Requests without a project take a share of their network, so they cannot crowd out projects. */
async function beginStranger(
  { coordinator }: HttpParts,
  { request, reply }: HttpExchange,
  weight = 1,
): Promise<void> {
  const share = networkShare(networkOf(request.ip));
  await coordinator.shares.begin(share, weight + weightOfBytes(lengthOf(request)));
  requireCaller(reply);
}

function requireCaller(reply: FastifyReply): void {
  if (reply.raw.destroyed) throw callerGone();
}

export interface HttpExchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

async function result(
  parts: OpenParts,
  { route, check }: { readonly route: Route; readonly check: CallCheck },
  { request, reply }: HttpExchange,
): Promise<unknown> {
  // The response is still open here, so its `close` event will come.
  requireCaller(reply);
  const header = (name: string): string | undefined => oneOf(request.headers[name]);
  const isLong = isHeld(route, request.body);
  const call = check({
    ...{ params: request.params, query: request.query, body: request.body, header },
    caller: parts.admission.caller(request),
    isEncrypted: request.protocol === 'https',
    signal: isLong || isDownload(route) ? signalOf(parts, { request, reply }) : parts.stopping,
  });
  if (isLong) reply.raw.once('close', parts.held.hold(call.caller));
  const replied = await route.handle(parts.coordinator, call);
  if (replied.isUpgrade === true) return parts.openStream({ request, reply });
  if (replied.isIdle === true) IDLE.add(request);
  const share =
    route.allows === 'public'
      ? networkShare(networkOf(request.ip))
      : projectShare(call.caller.project);
  return send({ request, reply }, replied, (bytes) => {
    // A download took its share when it was read.
    if (isDownload(route)) return;
    parts.coordinator.shares.charge(share, weightOfBytes(bytes));
    if (request.method === 'GET') keepUntilRead(parts.coordinator.unread, { reply, share, bytes });
  });
}

function isDownload({ responses }: Route): boolean {
  return responses[200]?.text === DOWNLOAD;
}

/**
 * A response stays in memory until its caller reads it. So a project's callers may leave only some
 * unread.
 */
function keepUntilRead(
  unread: ByteTurns,
  {
    reply,
    share,
    bytes,
  }: { readonly reply: FastifyReply; readonly share: string; readonly bytes: number },
): void {
  if (bytes <= LARGE_BYTES) return;
  const free = unread.tryTake(share, bytes);
  if (free !== undefined) {
    reply.raw.once('close', free);
    return;
  }
  throw tooMuchUnread();
}

/** Requests without any effect, such as empty polls. */
const IDLE: WeakSet<FastifyRequest> = new WeakSet();

function send(
  { request, reply }: HttpExchange,
  { status, body, headers, raw, stream }: Reply,
  charge: (bytes: number) => void,
): unknown {
  reply.code(status).headers(headers ?? {});
  if (stream !== undefined) {
    reply.headers({ 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    return reply.send(Readable.from(stream, { objectMode: false }));
  }
  if (raw !== undefined) {
    charge(raw.bytes.byteLength);
    return reply.type(raw.type).send(bufferOf(raw.bytes));
  }
  if (body === undefined) return reply.send();
  const text = JSON.stringify(body);
  charge(text.length);
  reply.type('application/json');
  // Only reads: workers' messages are many, small and mostly on a fast network.
  return request.method === 'GET' ? sendCompressed({ request, reply }, text) : reply.send(text);
}

async function sendCompressed({ request, reply }: HttpExchange, text: string): Promise<unknown> {
  reply.header('vary', 'accept-encoding');
  const encoding = encodingFor(oneOf(request.headers['accept-encoding']));
  const bytes = encoding && (await compressedText(text, encoding));
  if (bytes === undefined) return reply.send(text);
  // The bytes differ by encoding, so the tag identifies the content only.
  const etag = reply.getHeader('etag');
  if (etag !== undefined) reply.header('etag', `W/${etag}`);
  return reply.header('content-encoding', encoding).send(bytes);
}

/** Shares the memory instead of copying a large response. */
function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/**
 * Callers without a key must learn nothing about the store, neither where it is nor where it was
 * moved.
 */
function sendProblem(
  parts: HttpParts,
  reply: FastifyReply,
  { error, isStranger }: { readonly error: unknown; readonly isStranger: boolean },
): unknown {
  const { isFault, ...found } = problemFrom(error);
  const isOfTheInside = isFault || found.code === 'store-sealed';
  const problem = isStranger && isOfTheInside ? { ...found, detail: CANNOT_NOW } : found;
  if (isFault) faultLogOf(parts.log)(problem.code, error);
  if (problem.status === 401) reply.header('www-authenticate', 'Bearer');
  if (error instanceof ProblemReply && error.retryAfterS !== undefined) {
    reply.header('retry-after', String(error.retryAfterS));
  }
  return reply.code(problem.status).type('application/problem+json').send(JSON.stringify(problem));
}

const CANNOT_NOW = 'The coordinator cannot do this now. Its log has the cause.';

/** Converts Fastify's own refusals: invalid JSON, a body that is too large, or another type. */
function fromFastify(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ProblemReply) return error;
  const { statusCode } = error as { statusCode?: unknown };
  if (typeof statusCode !== 'number' || statusCode < 400 || statusCode >= 500) return error;
  const code = CODES[statusCode] ?? 'invalid-input';
  return new ProblemReply(code, `${error.message}. Nothing was done.`, statusCode);
}

const CODES: Readonly<Record<number, Code>> = { 413: 'payload-too-large', 415: 'type-unknown' };

/**
 * Aborts when the caller is gone or loses its access: a revoked key must not keep a request open.
 */
function signalOf(
  { admission, coordinator, stopping }: OpenParts,
  { request, reply }: HttpExchange,
): AbortSignal {
  const gone = new AbortController();
  let cancel: () => void = () => undefined;
  const check = (): void => {
    cancel = coordinator.timers.after(KEY_CACHE_MS, () => {
      void admission.stillOpens(request).then((stays) => {
        if (gone.signal.aborted) return;
        if (stays) check();
        else gone.abort();
      });
    });
  };
  check();
  reply.raw.once('close', () => {
    cancel();
    gone.abort();
  });
  return AbortSignal.any([gone.signal, stopping]);
}

// One log line per response. It has the route and not the address, because answer links contain a
// secret.

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

class RequestLog {
  readonly #log: ServerLog;
  readonly #callerOf: (request: FastifyRequest) => Caller | undefined;

  constructor(log: ServerLog, callerOf: (request: FastifyRequest) => Caller | undefined) {
    this.#log = log;
    this.#callerOf = callerOf;
  }

  answered(request: FastifyRequest, reply: FastifyReply): void {
    const caller = this.#callerOf(request);
    const { id } = (request.params ?? {}) as { readonly id?: unknown };
    this.#log.info('request', {
      method: request.method,
      route: request.routeOptions.url ?? 'none',
      ...(typeof id === 'string' && UUID.test(id) ? { id } : {}),
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime),
      ...(caller && { actor: caller.name, ...keyIn(caller), project: caller.project }),
      from: request.ip,
    });
  }
}

function keyIn({ key }: Caller): { readonly key?: string } {
  return key === undefined ? {} : { key };
}

// Not every listener has the admin routes. A caller that asks on the wrong one learns how to enable
// them.

const ADMIN: readonly { readonly method: string; readonly path: RegExp }[] = ROUTES.filter(
  ({ listener }) => listener === 'admin',
).map(({ method, path }) => ({
  method,
  path: new RegExp(`^${path.replace(/:[A-Za-z]+/g, '[^/]+')}$`),
}));

const OFF =
  'Admin routes are disabled (the default): projects, keys, releases, and ending by force. Nothing was done. Start the coordinator with --admin main, or --admin 127.0.0.1:7434 for a separate listener (HOLDFAST_ADMIN, `admin` in the file, openServer({ admin })).';
const ELSEWHERE =
  'Admin routes are on a separate listener: projects, keys, releases, and ending by force. Nothing was done. Pass its address as --url or HOLDFAST_URL; the coordinator logs it as adminUrl.';

/** Undefined if this listener has the admin routes, or the request is for none of them. */
function adminProblem(
  admin: NonNullable<ServerOptions['admin']>,
  routes: readonly Route[],
  { method, path }: { readonly method: string; readonly path: string },
): ProblemReply | undefined {
  if (routes.some(({ listener }) => listener === 'admin')) return undefined;
  const isOne = ADMIN.some((each) => each.method === method && each.path.test(path));
  if (!isOne) return undefined;
  return admin === 'off'
    ? new ProblemReply('admin-off', OFF)
    : new ProblemReply('admin-elsewhere', ELSEWHERE);
}
