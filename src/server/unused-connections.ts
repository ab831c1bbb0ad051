// Connections on which nothing was asked yet, as browsers and clients open some in advance. Node takes them for busy
// ones, so that whoever closes would wait for a request that never comes.

import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

export class UnusedConnections {
  readonly #sockets: Set<Socket> = new Set();

  watch(server: Server): void {
    const used = ({ socket }: IncomingMessage): void => {
      this.#sockets.delete(socket);
    };
    const opened = (socket: Socket): void => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    };
    // Over TLS requests come on the second of the two.
    const isTls = 'setSecureContext' in server;
    server.on(isTls ? 'secureConnection' : 'connection', opened);
    server.on('request', used);
    server.on('upgrade', used);
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
