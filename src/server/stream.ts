// The stream of workers and clients: WebSocket at `GET /v1/stream`, on the port of the API. The
// request passes the hooks of every route before the connection changes its protocol.

import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type WebSocket, WebSocketServer } from 'ws';
import { FRAME_BYTES_MAX } from '../protocol/messages/stream-connection.ts';
import { isWorkKind, workMessage } from '../protocol/messages/work-messages.ts';
import { isHeld, projectShare } from '../protocol/rest/route.ts';
import { dispatchOf } from '../protocol/work/dispatch.ts';
import { MessageStream, STREAM_ENDS } from '../protocol/work/message-stream.ts';
import { type ByteTurns, LARGE_BYTES } from '../support/turns.ts';
import type { Admission } from './admission.ts';
import { KEY_CACHE_MS } from './gate.ts';
import type { HttpExchange, HttpParts } from './http.ts';
import { faultLogOf } from './server-options.ts';

/** A peer gets a ping only after it was silent for this many checks of its access. */
const SILENT_CHECKS = 6;
/** A peer that does not close its side within this time is cut off. */
const CLOSE_MS = 1_000;

/** Peers send a frame in one part; proxies may split it. */
const FRAGMENTS_MAX = 256;
/** The most pings and pongs between two checks of the access. */
const CONTROL_FRAMES_MAX = 50;
/** A refused frame costs its project this much, so that it opens the next stream later. */
const REFUSED_WEIGHT = 16;

interface Upgrading {
  readonly socket: Socket;
  readonly head: Buffer;
}

/** The sockets of requests that ask for a stream, until they are handled. */
const UPGRADING: WeakMap<IncomingMessage, Upgrading> = new WeakMap();

/** Other requests to upgrade, such as those for HTTP/2, are ordinary requests. */
export function asksForStream({ url = '', headers }: IncomingMessage): boolean {
  return url.split('?')[0] === '/v1/stream' && headers.upgrade?.toLowerCase() === 'websocket';
}

/** Lets requests for a stream pass the hooks of the listener, as any other request does. */
export function routeUpgrades(app: FastifyInstance): void {
  app.server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    // Until there is a stream, nothing is lost with the connection.
    socket.on('error', () => socket.destroy());
    UPGRADING.set(request, { socket, head });
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => socket.end());
    app.routing(request, response);
  });
}

interface StreamParts extends HttpParts {
  readonly admission: Admission;
  readonly bodies: ByteTurns;
}

/** Opens the stream of an admitted request. */
export function streamOpener(parts: StreamParts): (exchange: HttpExchange) => void {
  const operations = parts.routes.filter(({ name }) => STREAMED.has(name));
  const { coordinator, limits, log } = parts;
  const maxPayload = Math.min(limits.bodyBytesMax, FRAME_BYTES_MAX);
  const server = new WebSocketServer({
    ...{ noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload },
    ...{ maxFragments: FRAGMENTS_MAX, closeTimeout: CLOSE_MS },
  });
  const dispatch = dispatchOf({
    ...{ coordinator, transport: 'stream', operations },
    onFault: faultLogOf(log),
  });
  const routes = new Map(operations.map((route) => [route.name, route]));
  const isLong = (kind: string, body: unknown): boolean =>
    isHeld(isWorkKind(kind) ? workMessage(kind) : (routes.get(kind) ?? {}), body);
  return ({ request, reply }) => {
    const upgrading = UPGRADING.get(request.raw);
    if (upgrading === undefined) throw new Error('A stream was opened without an upgrade.');
    const caller = parts.admission.caller(request);
    const release = parts.held.hold(caller);
    const { socket, head } = upgrading;
    socket.once('close', release);
    reply.hijack();
    reply.raw.detachSocket(socket);
    server.handleUpgrade(request.raw, socket, head, (connection) => {
      const stream = new MessageStream(
        {
          ...{ coordinator, dispatch, caller, isLong },
          count: () => parts.limiter.countMessage(caller, request.ip),
          hold: (each) => parts.held.hold(each),
          room: () => parts.bodies.take(projectShare(caller.project), maxPayload),
          answered: (kind, status, ms) => {
            const isKnown = isWorkKind(kind) || routes.has(kind);
            parts.metrics?.answered(isKnown ? kind : 'none', status, ms);
          },
          slowMs: limits.requestMs,
          stopping: parts.stopping,
        },
        {
          send: (frame) => {
            connection.send(frame);
            return !socket.writableNeedDrain;
          },
          pause: () => connection.pause(),
          resume: () => connection.resume(),
          end: (status, reason) => {
            connection.close(status, reason);
            coordinator.timers.after(CLOSE_MS, () => connection.terminate());
          },
          cut: () => connection.terminate(),
        },
      );
      const followed = { request, connection, socket, stream, controls: { count: 0 } };
      follow(followed, () => {
        coordinator.shares.charge(projectShare(caller.project), REFUSED_WEIGHT);
        // `ws` would read on until the peer closes the connection, or its time is over.
        coordinator.timers.soon(() => socket.pause());
      });
      watch(parts, followed);
    });
  };
}

/** Operations of the API that may come in a stream. */
const STREAMED: ReadonlySet<string> = new Set(['submitExecution', 'readResult']);

interface Followed {
  readonly request: FastifyRequest;
  readonly connection: WebSocket;
  readonly socket: Socket;
  readonly stream: MessageStream;
  /** Pings and pongs since the last check. */
  readonly controls: { count: number };
}

function follow({ connection, socket, stream, controls }: Followed, refused: () => void): void {
  let whole = socket.bytesRead;
  // `ws` keeps the parts of a frame until it is whole, so a caller could fill the memory.
  socket.on('data', () => {
    if (socket.bytesRead - whole > LARGE_BYTES) void stream.arrive();
  });
  connection.on('message', (data: Buffer, isBinary) => {
    if (connection.readyState !== connection.OPEN) return;
    whole = socket.bytesRead;
    if (isBinary) stream.end(STREAM_ENDS.invalid, 'A frame is text.');
    else stream.take(data.toString()).catch(() => connection.terminate());
  });
  const control = (): void => {
    controls.count += 1;
    if (controls.count !== CONTROL_FRAMES_MAX) return;
    stream.end(STREAM_ENDS.denied, 'Too many pings and pongs.');
    refused();
  };
  connection.on('ping', control);
  connection.on('pong', control);
  socket.on('drain', () => stream.drained());
  connection.on('close', () => stream.leave());
  // A frame that is too large, in too many parts or not valid; `close` follows.
  connection.on('error', refused);
}

/** Ends the stream when its key does, and when the peer has vanished. */
function watch(
  { admission, coordinator: { timers } }: StreamParts,
  { request, connection, socket, stream, controls }: Followed,
): void {
  let read = socket.bytesRead;
  let silent = 0;
  const check = (): (() => void) =>
    timers.after(KEY_CACHE_MS, () => {
      silent = socket.bytesRead === read ? silent + 1 : 0;
      read = socket.bytesRead;
      controls.count = 0;
      if (silent >= 2 * SILENT_CHECKS) return connection.terminate();
      if (silent === SILENT_CHECKS) connection.ping();
      void admission.stillOpens(request).then((stays) => {
        if (!stays) stream.end(STREAM_ENDS.denied, 'The access key was revoked or has expired.');
        else if (connection.readyState === connection.OPEN) cancel = check();
      });
    });
  let cancel = check();
  connection.once('close', () => cancel());
}
