// An S3-compatible server on loopback, behind a gate that a test can close, stall or fill up.

import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startS3 } from '../services/s3.ts';

export const CREDENTIALS = { accessKeyId: 'ARCHIVER', secretAccessKey: 'of the archive' } as const;
export const BUCKET = 'archive';

/** The fate of the next requests. `cut` ends the connection in the middle of one. */
export type GateMode = 'open' | 'down' | 'stalled' | 'full' | 'cut';

export interface S3ForTests {
  readonly url: string;
  /** From the n-th writing request on, counted from now. */
  turn(mode: GateMode, afterWrites?: number): void;
  /** Resolves when the gate stalls a request. */
  stalled(): Promise<void>;
  close(): Promise<void>;
}

const FULL = '<?xml version="1.0"?><Error><Code>XMinioStorageFull</Code></Error>';

export async function s3ForTests(): Promise<S3ForTests> {
  const server = await startS3(BUCKET, CREDENTIALS);
  const { port } = server;
  let mode: GateMode = 'open';
  let left = 0;
  let stalled = Promise.withResolvers<void>();
  const gate = createServer((incoming, outgoing) => {
    if (incoming.method === 'PUT') left -= 1;
    const now = left < 0 ? mode : 'open';
    if (now === 'down') return incoming.destroy();
    if (now === 'stalled') return stalled.resolve();
    if (now === 'full') {
      incoming.resume();
      return outgoing.writeHead(507).end(FULL);
    }
    const { method, url, headers } = incoming;
    const onward = request({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
      // The server stores the object, and the client gets no answer.
      if (now === 'cut') return incoming.destroy();
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      return answer.pipe(outgoing);
    });
    onward.on('error', () => incoming.destroy());
    return incoming.pipe(onward);
  });
  await new Promise<void>((listening) => gate.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(gate.address() as AddressInfo).port}`,
    turn(next, afterWrites = 0) {
      mode = next;
      left = afterWrites;
      stalled = Promise.withResolvers<void>();
    },
    stalled: () => stalled.promise,
    async close() {
      gate.closeAllConnections();
      gate.close();
      await server.close();
    },
  };
}
