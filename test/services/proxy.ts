// A TCP proxy on loopback that loses replies, and connections, on request.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  readonly port: number;
  /** Messages of the server no longer arrive; those to the server do. */
  mute(): void;
  /** Cuts connections, and new ones as soon as they open. */
  cut(): void;
  restore(): void;
  close(): Promise<void>;
}

/** `target`: a port on loopback, or the path of a socket. */
export async function startProxy(target: number | string): Promise<TcpProxy> {
  let state: 'open' | 'mute' | 'cut' = 'open';
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream =
      typeof target === 'number' ? connect(target, '127.0.0.1') : connect({ path: target });
    client.on('data', (data) => upstream.write(data));
    upstream.on('data', (data) => {
      if (state === 'open') client.write(data);
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
    cut() {
      state = 'cut';
      cutAll();
    },
    restore() {
      state = 'open';
    },
    async close() {
      cutAll();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The same URL, through the proxy. */
export function through(url: string, { port }: TcpProxy): string {
  const via = new URL(url);
  via.hostname = '127.0.0.1';
  via.port = String(port);
  return via.href;
}
