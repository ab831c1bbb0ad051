// A TCP proxy on loopback that loses replies, and connections, on request.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  readonly port: number;
  /** Messages of the server no longer arrive; those to the server do. */
  mute(): void;
  /** Open connections pass nothing more, and are not cut. New ones work. */
  silence(): void;
  /** Cuts connections, and new ones as soon as they open. */
  cut(): void;
  /** Messages of the server arrive this much later, in order. */
  delay(ms: number): void;
  restore(): void;
  close(): Promise<void>;
}

/**
 * `target`: a port on loopback, or the path of a socket. If `loses` returns true for a message of
 * the server, the message is lost and its connection is cut.
 */
export async function startProxy(
  target: number | string,
  loses: (message: Buffer) => boolean = () => false,
): Promise<TcpProxy> {
  let state: 'open' | 'mute' | 'cut' = 'open';
  let delayMs = 0;
  const sockets = new Set<Socket>();
  let silent: ReadonlySet<Socket> = new Set();
  const server = createServer((client) => {
    const upstream =
      typeof target === 'number' ? connect(target, '127.0.0.1') : connect({ path: target });
    client.on('data', (data) => {
      if (!silent.has(client)) upstream.write(data);
    });
    upstream.on('data', (data) => {
      if (state !== 'open' || silent.has(client)) return;
      if (loses(data)) {
        client.destroy();
        upstream.destroy();
      } else if (delayMs === 0) client.write(data);
      else setTimeout(() => client.write(data), delayMs);
    });
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    if (state === 'cut') client.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cutAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    mute() {
      state = 'mute';
    },
    silence() {
      silent = new Set(sockets);
    },
    cut() {
      state = 'cut';
      cutAll();
    },
    delay(ms) {
      delayMs = ms;
    },
    restore() {
      state = 'open';
      delayMs = 0;
    },
    async close() {
      cutAll();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The same URL, through the proxy. */
export function through(url: string, { port }: Pick<TcpProxy, 'port'>): string {
  const via = new URL(url);
  via.hostname = '127.0.0.1';
  via.port = String(port);
  return via.href;
}
