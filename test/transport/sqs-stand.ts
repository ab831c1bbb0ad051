// An SQS server on loopback, with the queues of one coordinator, and a worker that signs by hand.

import { SQSClient } from '@aws-sdk/client-sqs';
import { type FauxqsServer, startFauxqs } from 'fauxqs';
import type { CallerKind, Forgery } from '../../contract/index.ts';
import {
  type ReplyEnvelope,
  type RequestEnvelope,
  type Transport,
  type TransportRequest,
  WORK_VERSION,
} from '../../src/protocol/messages/envelope.ts';
import {
  envelopeFromJson,
  type QueuedReply,
  type QueuedRequest,
  type Queues,
  sqsQueues,
  toJson,
} from '../../src/protocol/messages/queued.ts';
import { Signer } from '../../src/protocol/messages/signing.ts';
import type { SqsOptions } from '../../src/server/serve.ts';
import { sqsTransport } from '../../src/worker/sqs-transport.ts';

const secret = (letter: string): string => letter.repeat(32);
const KEYS = { new: secret('n'), old: secret('o') };
const STRANGE = { strange: secret('s') };

export class SqsStand {
  readonly #server: FauxqsServer;
  readonly client: SQSClient;
  readonly queues: Queues;
  #made = 0;

  constructor(server: FauxqsServer, client: SQSClient, queues: Queues) {
    this.#server = server;
    this.client = client;
    this.queues = queues;
  }

  static async open(): Promise<SqsStand> {
    const server = await startFauxqs({ port: 0, host: '127.0.0.1', logger: false });
    const client = new SQSClient({
      endpoint: `http://127.0.0.1:${server.port}`,
      region: 'us-east-1',
      useQueueUrlAsEndpoint: false,
      credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
    });
    return new SqsStand(server, client, await sqsQueues(client));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  queue(purpose: string): string {
    this.#made += 1;
    return this.#server.createQueue(`${purpose}-${this.#made}`).queueUrl;
  }

  fifoQueue(purpose: string): string {
    this.#made += 1;
    const attributes = { FifoQueue: 'true' };
    return this.#server.createQueue(`${purpose}-${this.#made}.fifo`, { attributes }).queueUrl;
  }

  /** For its own coordinator. */
  options(visibleMs: number = 30_000): SqsOptions {
    const replyQueueUrl = this.queue('reply');
    return {
      client: this.client,
      requestQueueUrl: this.queue('request'),
      poisonQueueUrl: this.queue('poison'),
      replyQueues: [replyQueueUrl.replace(/[^/]*$/, 'reply-*')],
      keys: {
        new: { secret: KEYS.new },
        old: { secret: KEYS.old },
        strange: { secret: STRANGE.strange, project: 'other' },
      },
      visibleMs,
    };
  }

  transport(
    { requestQueueUrl }: SqsOptions,
    as: CallerKind = 'worker',
    replyQueueUrl: string = this.queue('reply'),
  ): Promise<Transport> {
    const signing = {
      worker: { keys: KEYS, current: 'new' },
      stranger: { keys: STRANGE, current: 'strange' },
      anonymous: { keys: { new: secret('x') }, current: 'new' },
    };
    return sqsTransport({
      ...{ client: this.client, requestQueueUrl, signing: signing[as] },
      replyQueueUrl,
      ...(as === 'anonymous' ? { replyTimeoutMs: 100 } : {}),
    });
  }

  /** Sends this text that often, and waits for as many replies, or until it is put aside. */
  async exchange(
    { requestQueueUrl, poisonQueueUrl }: SqsOptions,
    { text, replyTo, times = 1 }: { text: string; replyTo: string; times?: number },
  ): Promise<readonly ReplyEnvelope[]> {
    for (let sent = 0; sent < times; sent += 1) await this.queues.send(requestQueueUrl, text);
    const over = new AbortController();
    const replies: ReplyEnvelope[] = [];
    const signer = new Signer('stand', { keys: KEYS, current: 'new' });
    const waiting = { waitMs: 20_000, visibleMs: 30_000, signal: over.signal };
    const answered = async (): Promise<void> => {
      while (replies.length < times) {
        for (const { body } of await this.queues.receive(replyTo, waiting)) {
          const verified = signer.verify<QueuedReply>(body, { to: 'worker', nowMs: Date.now() });
          if (verified.kind !== 'verified') throw new Error(`a reply that is ${verified.kind}`);
          const { envelope } = verified.claims;
          if (envelope !== undefined) replies.push(envelopeFromJson(envelope) as ReplyEnvelope);
        }
      }
    };
    const parked = async (): Promise<void> => {
      while ((await this.queues.receive(poisonQueueUrl, waiting)).length === 0);
    };
    await Promise.race([answered(), parked()]);
    over.abort();
    return replies;
  }

  signed(message: object, how: Forgery, replyTo: string): string {
    const at = Date.now() - (how === 'waited-long' ? 3_600_000 : 0);
    const until = how === 'expired' ? at - 3_600_000 : at + 7_200_000;
    const envelope = toJson({ v: WORK_VERSION, id: 'one', ...message } as RequestEnvelope);
    const claims: QueuedRequest = { to: 'coordinator', at, until, replyTo, envelope };
    const signer = new Signer('stand', { keys: KEYS, current: 'new' });
    const text = signer.sign(claims);
    switch (how) {
      case 'unsigned':
        return JSON.stringify(claims);
      case 'tampered':
        return text.replace('"seq":', '"seq": ');
      case 'of-another-key':
        return new Signer('stand', { keys: { new: secret('y') }, current: 'new' }).sign(claims);
      case 'of-an-unknown-key':
        return new Signer('stand', { keys: { eve: secret('e') }, current: 'eve' }).sign(claims);
      case 'of-an-older-key':
        return signer.sign(claims, 'old');
      case 'turned-around':
        return signer.sign({ ...claims, to: 'worker' } as never);
      case 'reply-elsewhere':
        return signer.sign({ ...claims, replyTo: 'http://169.254.169.254/latest' } as never);
      default:
        return text;
    }
  }

  /** A greeting of another project. */
  ofStranger(replyTo: string): string {
    const at = Date.now();
    const envelope = toJson({
      v: WORK_VERSION,
      id: 'one',
      kind: 'greet',
      body: {},
    } as RequestEnvelope);
    const claims = { to: 'coordinator', at, until: at + 60_000, replyTo, envelope } as const;
    return new Signer('stand', { keys: STRANGE, current: 'strange' }).sign(claims as QueuedRequest);
  }

  /** A message that refers to a missing value. */
  partsNowhere(replyTo: string): string {
    return this.referring(replyTo, 'f'.repeat(64));
  }

  referring(replyTo: string, ...parts: readonly string[]): string {
    const at = Date.now();
    const claims = { to: 'coordinator', at, until: at + 60_000, replyTo } as const;
    const signer = new Signer('stand', { keys: KEYS, current: 'new' });
    return signer.sign({ ...claims, parts } as QueuedRequest);
  }

  async twice(
    options: SqsOptions,
    message: TransportRequest,
  ): Promise<readonly [unknown, unknown]> {
    const replyTo = this.queue('reply');
    const text = this.signed(message, 'none', replyTo);
    const [one, other] = await this.exchange(options, { text, replyTo, times: 2 });
    return [one?.body, other?.body];
  }

  async close(): Promise<void> {
    this.client.destroy();
    await this.#server.stop();
  }
}
