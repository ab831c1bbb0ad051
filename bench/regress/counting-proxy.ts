// A TCP proxy on loopback that counts the bytes and messages that pass it.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Reads one message at the start of the buffer. Returns undefined if it is incomplete. */
type ReadMessage = (
  buffer: Buffer,
) => { readonly length: number; readonly kind: string } | undefined;

export interface Protocol {
  /** A reader for one direction of a new connection. */
  reader(from: 'client' | 'server'): ReadMessage;
}

export interface CountingProxy {
  readonly port: number;
  /** In both directions. */
  bytes: number;
  /** The number of messages of each kind. */
  readonly messages: Map<string, number>;
  close(): Promise<void>;
}

export async function countingProxy(port: number, protocol: Protocol): Promise<CountingProxy> {
  const sockets = new Set<Socket>();
  const messages = new Map<string, number>();
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    const directions = [
      { from: client, to: upstream, read: protocol.reader('client') },
      { from: upstream, to: client, read: protocol.reader('server') },
    ];
    for (const { from, to, read } of directions) {
      let rest = Buffer.alloc(0);
      sockets.add(from);
      from.setNoDelay(true);
      from.on('data', (data: Buffer) => {
        to.write(data);
        proxy.bytes += data.length;
        rest = Buffer.concat([rest, data]);
        for (let found = read(rest); found !== undefined; found = read(rest)) {
          messages.set(found.kind, (messages.get(found.kind) ?? 0) + 1);
          rest = rest.subarray(found.length);
        }
      });
      from.on('error', () => undefined);
      from.on('end', () => to.end());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy: CountingProxy = {
    port: (server.address() as AddressInfo).port,
    bytes: 0,
    messages,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  return proxy;
}

/** Messages of a PostgreSQL client, by their type byte. */
export const POSTGRES: Protocol = {
  reader(from) {
    let isStarted = from === 'server';
    return (buffer) => {
      // The first message of a client has no type byte.
      const head = isStarted ? 1 : 0;
      if (buffer.length < head + 4) return undefined;
      const length = head + buffer.readUInt32BE(head);
      if (buffer.length < length) return undefined;
      const kind = isStarted ? buffer.toString('latin1', 0, 1) : 'startup';
      isStarted = true;
      return { length, kind: `${from} ${kind}` };
    };
  },
};

const TEXT = 1;
const HEAD_END = '\r\n\r\n';
const UPGRADE = /\r\nupgrade: websocket/i;

/** Frames of WebSocket connections. Of other connections it counts only the bytes. */
export const WEB_SOCKET: Protocol = {
  reader() {
    let isUpgraded = false;
    return (buffer) => {
      if (!isUpgraded) {
        const end = buffer.indexOf(HEAD_END);
        if (end < 0) return undefined;
        isUpgraded = UPGRADE.test(buffer.toString('latin1', 0, end));
        return { length: isUpgraded ? end + HEAD_END.length : buffer.length, kind: 'http' };
      }
      if (buffer.length < 2) return undefined;
      const [first = 0, second = 0] = buffer;
      const short = second & 0x7f;
      const extra = short === 126 ? 2 : short === 127 ? 8 : 0;
      if (buffer.length < 2 + extra) return undefined;
      const payload =
        extra === 0
          ? short
          : extra === 2
            ? buffer.readUInt16BE(2)
            : Number(buffer.readBigUInt64BE(2));
      const length = 2 + extra + (second & 0x80 ? 4 : 0) + payload;
      if (buffer.length < length) return undefined;
      return { length, kind: (first & 0x0f) === TEXT ? 'frame' : 'control' };
    };
  },
};
