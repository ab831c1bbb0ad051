// A receiver of webhooks that checks each signature by itself, as the page of the guide describes.

import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../../src/support/clock.ts';

export interface Received {
  readonly path: string;
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** The nth of the secrets signed it; none: the signature is wrong. */
  readonly signedBy: readonly number[];
}

/** Decides the status. Default 204. */
type Reply = (message: Received) => number | Promise<number>;

export class WebhookReceiver {
  /** Messages in the order in which they came. */
  readonly received: Received[] = [];
  /** As the coordinator prints them. */
  secrets: readonly string[] = [];
  reply: Reply = () => 204;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer(async (request, response) => {
      const message = this.#read(request, await bodyOf(request));
      this.received.push(message);
      const status = await this.reply(message);
      response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end();
    });
  }

  static async open(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    await new Promise<void>((resolve) => {
      receiver.#server.listen(0, '127.0.0.1', resolve);
    });
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The ids of messages on a path. */
  idsOn(path: string): readonly string[] {
    return this.received.filter((each) => each.path === path).map(({ id }) => id);
  }

  #read(request: IncomingMessage, body: string): Received {
    const { headers, url: path = '' } = request;
    const id = String(headers['webhook-id']);
    const signed = `${id}.${headers['webhook-timestamp']}.${body}`;
    const given = String(headers['webhook-signature']).split(' ');
    const signedBy = this.secrets.flatMap((secret, nth) => {
      const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
      const expected = Buffer.from(
        `v1,${createHmac('sha256', key).update(signed).digest('base64')}`,
      );
      const isSigned = given.some((each) => {
        const bytes = Buffer.from(each);
        return bytes.length === expected.length && timingSafeEqual(bytes, expected);
      });
      return isSigned ? [nth] : [];
    });
    return {
      path,
      id,
      signedBy,
      ...(JSON.parse(body) as Pick<Received, 'type' | 'timestamp' | 'data'>),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** An answer that a receiver signs by hand, as the page of the guide describes. */
export function signedAnswer(
  secret: string,
  { content, ageS = 0 }: { readonly content: object; readonly ageS?: number },
): {
  readonly id: string;
  readonly timestamp: number;
  readonly payload: string;
  readonly signature: string;
} {
  const [id, payload] = ['answer-1', JSON.stringify(content)];
  const timestamp = Math.floor(systemClock.wallMs() / 1_000) - ageS;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const digest = createHmac('sha256', key).update(`${id}.${timestamp}.${payload}`).digest('base64');
  return { id, timestamp, payload, signature: `v1,${digest}` };
}
