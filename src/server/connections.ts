// Limits connections: per address, and in the requests that one connection may send ahead.

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Timers } from '../support/timer.ts';

/** The connections of one address (for IPv6, of its network), over HTTP and gRPC together. */
export class AddressLimit {
  readonly #max: number;
  readonly #open: Map<string, number> = new Map();

  constructor(max: number) {
    this.#max = max;
  }

  /** Closes a connection above the limit. */
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

/**
 * Modern clients send one request at a time. Node handles all requests that arrive together before
 * anything else runs.
 */
const PIPELINED_MAX = 16;

/** The requests of a connection that have no response yet. */
export class Pipelining {
  readonly #pending: WeakMap<Socket, number> = new WeakMap();

  /** False above the limit: the connection is closed, and the request must not be handled. */
  began(socket: Socket, response: ServerResponse): boolean {
    if (socket.destroyed) return false;
    const before = this.#pending.get(socket) ?? 0;
    if (before >= PIPELINED_MAX) {
      socket.destroy();
      return false;
    }
    this.#pending.set(socket, before + 1);
    response.once('close', () => {
      this.#pending.set(socket, (this.#pending.get(socket) ?? 1) - 1);
    });
    return true;
  }
}

// Closes the listeners of a coordinator.

/** Every open connection of the listeners, including those without a request so far. */
export class OpenConnections {
  readonly #all: Set<Socket> = new Set();
  /** The bytes read before a request could arrive, which belong to the TLS handshake. */
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
    // `stream.ts` takes the sockets of upgrades over.
    server.on('request', ({ socket }: IncomingMessage) => this.#unused.delete(socket));
  }

  /**
   * Browsers open connections in advance. Node counts them as busy, so closing would wait for a
   * request.
   */
  closeUnused(): void {
    // A partly received request counts as in progress.
    for (const [socket, before] of this.#unused) {
      if (socket.bytesRead === before) socket.destroy();
    }
  }

  /** Includes connections that Node's HTTP server no longer tracks. */
  closeAll(): void {
    for (const socket of this.#all) socket.destroy();
  }
}

const IDLE_POLL_MS = 50;
const CLOSE_MS_MAX = 5_000;

/**
 * Lets requests in progress finish. Closes connections when they are idle, and all of them after a
 * time limit.
 */
export async function closeAll(
  {
    apps,
    connections,
  }: { readonly apps: readonly FastifyInstance[]; readonly connections: OpenConnections },
  timers: Timers,
): Promise<void> {
  const closed = new AbortController();
  const closing = Promise.all(apps.map((app) => app.close())).finally(() => closed.abort());
  for (let ms = 0; ms < CLOSE_MS_MAX && !closed.signal.aborted; ms += IDLE_POLL_MS) {
    for (const app of apps) app.server.closeIdleConnections();
    connections.closeUnused();
    await timers.pause(IDLE_POLL_MS, closed.signal);
  }
  connections.closeAll();
  await closing;
}

const GROUPS = 8;
const GROUPS_OF_NETWORK = 4;

/** The address or, for IPv6, the 64 bits that its holder cannot choose. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!address.includes(':')) return address;
  const [left = [], right = []] = address
    .split('::')
    .map((half) => half.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: GROUPS - left.length - right.length }, () => '0');
  const groups = address.includes('::') ? [...left, ...zeros, ...right] : left;
  return groups
    .slice(0, GROUPS_OF_NETWORK)
    .map((group) => group.toLowerCase().replace(/^0+(?=.)/, ''))
    .join(':');
}
