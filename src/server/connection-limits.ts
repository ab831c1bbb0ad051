// Limits of connections: how many one address may open, and how many requests one connection may send ahead.

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { networkOf } from './limiter.ts';

/** Connections of one address (of an IPv6 address, its network), over HTTP and gRPC together. */
export class AddressLimit {
  readonly #max: number;
  readonly #open: Map<string, number> = new Map();

  constructor(max: number) {
    this.#max = max;
  }

  /** Closes a connection that is one too many. */
  came(socket: Socket): void {
    const network = networkOf(socket.remoteAddress ?? '');
    const open = this.#open.get(network) ?? 0;
    if (open >= this.#max) {
      socket.destroy();
      return;
    }
    this.#open.set(network, open + 1);
    socket.once('close', () => {
      const left = (this.#open.get(network) ?? 1) - 1;
      if (left === 0) this.#open.delete(network);
      else this.#open.set(network, left);
    });
  }
}

/** Clients of today send one at a time. Node handles all that arrive together before anything else runs. */
const PIPELINED_MAX = 16;

/** Requests of a connection that are not answered yet. */
export class Pipelining {
  readonly #unanswered: WeakMap<Socket, number> = new WeakMap();

  /** False where there are too many: the connection is closed, and the request must not be handled. */
  began(socket: Socket, response: ServerResponse): boolean {
    if (socket.destroyed) return false;
    const before = this.#unanswered.get(socket) ?? 0;
    if (before >= PIPELINED_MAX) {
      socket.destroy();
      return false;
    }
    this.#unanswered.set(socket, before + 1);
    response.once('close', () => {
      this.#unanswered.set(socket, (this.#unanswered.get(socket) ?? 1) - 1);
    });
    return true;
  }
}
