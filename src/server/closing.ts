// How the listeners of a coordinator close.

import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Timers } from '../support/timer.ts';

/** Every open connection of the listeners, with those that carried no request yet. */
export class OpenConnections {
  readonly #all: Set<Socket> = new Set();
  /** With the bytes read before a request could arrive: those of the TLS handshake. */
  readonly #unused: Map<Socket, number> = new Map();

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      this.#all.add(socket);
      socket.once('close', () => this.#all.delete(socket));
    });
    // Over TLS, requests arrive on the second of two sockets.
    const isTls = 'setSecureContext' in server;
    server.on(isTls ? 'secureConnection' : 'connection', (socket: Socket) => {
      this.#unused.set(socket, socket.bytesRead);
      socket.once('close', () => this.#unused.delete(socket));
    });
    // Never listen to 'upgrade': Node would hand the socket over, and nothing would answer, time out or close it.
    server.on('request', ({ socket }: IncomingMessage) => this.#unused.delete(socket));
  }

  /** Browsers open connections in advance. Node counts them as busy, so closing would wait for a request. */
  closeUnused(): void {
    // Half a request is one that is under way.
    for (const [socket, before] of this.#unused) {
      if (socket.bytesRead === before) socket.destroy();
    }
  }

  /** Also those that Node's HTTP server no longer tracks. */
  closeAll(): void {
    for (const socket of this.#all) socket.destroy();
  }
}

const IDLE_LOOK_MS = 50;
const CLOSE_MS_MAX = 5_000;

/** What is under way is answered; connections are closed when they are idle, after a while in any case. */
export async function closeAll(
  {
    apps,
    connections,
  }: { readonly apps: readonly FastifyInstance[]; readonly connections: OpenConnections },
  timers: Timers,
): Promise<void> {
  const closed = new AbortController();
  const closing = Promise.all(apps.map((app) => app.close())).finally(() => closed.abort());
  for (let ms = 0; ms < CLOSE_MS_MAX && !closed.signal.aborted; ms += IDLE_LOOK_MS) {
    for (const app of apps) app.server.closeIdleConnections();
    connections.closeUnused();
    await timers.pause(IDLE_LOOK_MS, closed.signal);
  }
  connections.closeAll();
  await closing;
}
