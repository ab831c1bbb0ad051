// How the listeners of a coordinator close.

import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Timers } from '../support/timer.ts';

/**
 * Connections on which nothing was asked yet, as browsers and clients open some in advance. Node takes them for busy
 * ones, so that whoever closes would wait for a request that never comes.
 */
export class UnusedConnections {
  /** With what was read of each before it could be asked anything: that is what TLS takes. */
  readonly #sockets: Map<Socket, number> = new Map();

  watch(server: Server): void {
    const used = ({ socket }: IncomingMessage): void => {
      this.#sockets.delete(socket);
    };
    const opened = (socket: Socket): void => {
      this.#sockets.set(socket, socket.bytesRead);
      socket.once('close', () => this.#sockets.delete(socket));
    };
    // Over TLS requests come on the second of the two.
    const isTls = 'setSecureContext' in server;
    server.on(isTls ? 'secureConnection' : 'connection', opened);
    server.on('request', used);
    server.on('upgrade', used);
  }

  close(): void {
    // Half a request is one that is under way.
    for (const [socket, before] of this.#sockets) {
      if (socket.bytesRead === before) socket.destroy();
    }
  }
}

const IDLE_LOOK_MS = 50;
const CLOSE_MS_MAX = 5_000;

/** What is under way is answered; connections are closed when they are idle, after a while in any case. */
export async function closeAll(
  {
    apps,
    unused,
  }: { readonly apps: readonly FastifyInstance[]; readonly unused: UnusedConnections },
  timers: Timers,
): Promise<void> {
  const closed = new AbortController();
  const closing = Promise.all(apps.map((app) => app.close())).finally(() => closed.abort());
  for (let ms = 0; ms < CLOSE_MS_MAX && !closed.signal.aborted; ms += IDLE_LOOK_MS) {
    for (const app of apps) app.server.closeIdleConnections();
    unused.close();
    await timers.pause(IDLE_LOOK_MS, closed.signal);
  }
  for (const app of apps) app.server.closeAllConnections();
  await closing;
}
