import type { ReplyEnvelope } from '../../src/protocol/messages/envelope.ts';
import type { Server } from '../../src/server/serve.ts';
import { systemTimers } from '../../src/support/timer.ts';
import { streamTransport } from '../../src/worker/connection.ts';
import type { Kind } from './backend.ts';
import { RawStream } from './raw-stream.ts';

export const streamKind: Kind = {
  name: 'stream',
  offers: ['envelopes', 'limit'],
  options: async () => ({ limits: { bodyBytesMax: 4 * 1024 * 1024 } }),
  async transport({ url }, key) {
    const transport = streamTransport({ url, key, timers: systemTimers });
    // The greeting of a caller without a valid key fails, as each of its messages will.
    await transport.request({ kind: 'greet' }).catch(() => undefined);
    return transport;
  },
  deliver,
};

async function deliver(server: Server, key: string, envelope: unknown): Promise<ReplyEnvelope> {
  const stream = await RawStream.open(server.url, key);
  stream.send([envelope]);
  const [reply] = await stream.next();
  stream.close();
  return reply as ReplyEnvelope;
}
