// `sqsTransport`: the worker protocol over SQS. Requests go to the coordinators' queue. Replies come
// to this worker's queue and are matched by id. Both are signed, because write access to a queue is
// not the right to work.

import {
  envelopeOf,
  REPLY_TIMEOUT_MS,
  type ReplyEnvelope,
  resultIn,
  type Transport,
  type TransportRequest,
} from '../protocol/messages/envelope.ts';
import { Pending } from '../protocol/messages/pending.ts';
import {
  envelopeFromJson,
  joined,
  partsOf,
  QUEUED_BYTES_MAX,
  type QueuedReply,
  type QueuedRequest,
  type Queues,
  sqsQueues,
  toJson,
} from '../protocol/messages/queued.ts';
import { Signer, type SigningOptions } from '../protocol/messages/signing.ts';
import { workMessage } from '../protocol/messages/work-messages.ts';
import { systemClock } from '../support/clock.ts';
import {
  boundedText,
  integerOption,
  readOptions,
  requireMethods,
  wordsIn,
} from '../support/options.ts';
import { systemRandom } from '../support/random.ts';
import type { SqsClient } from '../support/sqs.ts';
import { systemTimers } from '../support/timer.ts';

/** Options of `sqsTransport`. */
export interface SqsTransportOptions {
  /** An `SQSClient` of `@aws-sdk/client-sqs` with your region and credentials. You destroy it. */
  readonly client: SqsClient;
  /** The queue of the coordinators. */
  readonly requestQueueUrl: string;
  /** The queue of this worker alone. */
  readonly replyQueueUrl: string;
  /** Keys that the coordinator knows too. */
  readonly signing: SigningOptions;
  /**
   * Milliseconds for which a queued write may still be applied, 1,000 up to 14 days. Default
   * 3,600,000 (an hour).
   */
  readonly writesGoodMs?: number;
  /** Milliseconds to wait for a reply, up to an hour. Default 15,000. */
  readonly replyTimeoutMs?: number;
}

const NAMES: readonly (keyof SqsTransportOptions)[] = wordsIn(
  'client requestQueueUrl replyQueueUrl signing writesGoodMs replyTimeoutMs',
);
const URL_MAX = 2_048;
const HOUR_MS = 3_600_000;
const HELD_MS = 20_000;
const VISIBLE_MS = 30_000;
const PAUSE_MS = 1_000;

/**
 * Opens an SQS transport for a worker. Needs the package `@aws-sdk/client-sqs`.
 *
 * Throws `InvalidInput` for invalid options.
 *
 * @example
 * import { SQSClient } from '@aws-sdk/client-sqs';
 * import { openWorker } from 'holdfast/worker';
 *
 * const transport = await sqsTransport({
 *   client: new SQSClient({}),
 *   requestQueueUrl: 'https://sqs.eu-central-1.amazonaws.com/123456789012/requests',
 *   replyQueueUrl: 'https://sqs.eu-central-1.amazonaws.com/123456789012/replies-1',
 *   signing: { keys: { k1: process.env['SQS_SECRET'] ?? '' }, current: 'k1' },
 * });
 * await openWorker({ transport, pipelines: [order] });
 */
export async function sqsTransport(given: SqsTransportOptions): Promise<Transport> {
  const options = readOptions('sqsTransport', given, NAMES);
  requireMethods('sqsTransport: client', options.client, ['send']);
  boundedText('sqsTransport: requestQueueUrl', options.requestQueueUrl, URL_MAX);
  boundedText('sqsTransport: replyQueueUrl', options.replyQueueUrl, URL_MAX);
  const { writesGoodMs = HOUR_MS, replyTimeoutMs = REPLY_TIMEOUT_MS } = options;
  integerOption('sqsTransport: writesGoodMs', writesGoodMs, { min: 1_000, max: 14 * 24 * HOUR_MS });
  integerOption('sqsTransport: replyTimeoutMs', replyTimeoutMs, { min: 1, max: HOUR_MS });
  const signer = new Signer('sqsTransport: signing', options.signing);
  return new SqsTransport(await sqsQueues(options.client), signer, {
    ...options,
    writesGoodMs,
    replyTimeoutMs,
  });
}

class SqsTransport implements Transport {
  readonly name = 'SQS';
  readonly doubles = true;
  readonly #queues: Queues;
  readonly #signer: Signer;
  readonly #options: Required<SqsTransportOptions>;
  readonly #pending: Pending = new Pending(systemTimers);
  readonly #listeners: Set<() => void> = new Set();
  readonly #stop: AbortController = new AbortController();
  /** The prefix of ids from this process. */
  readonly #life: string = systemRandom.uuid();
  readonly #reading: Promise<void>;
  #requests = 0;

  constructor(queues: Queues, signer: Signer, options: Required<SqsTransportOptions>) {
    this.#queues = queues;
    this.#signer = signer;
    this.#options = options;
    this.#reading = this.#read();
  }

  async request<Result>(message: TransportRequest): Promise<Result> {
    this.#requests += 1;
    const id = `${this.#life}.${this.#requests}`;
    const text = await this.#written(message, id);
    const { replyTimeoutMs, requestQueueUrl } = this.#options;
    const { isRead } = workMessage(message.kind);
    const sent = { timeoutMs: replyTimeoutMs, ...message, isRead };
    const reply = await this.#pending.wait(sent, id, () => {
      this.#queues
        .send(requestQueueUrl, text)
        .catch((cause: unknown) => this.#pending.lose(id, 'the queue did not accept it', cause));
    });
    return resultIn<Result>(message, reply);
  }

  onWakeup(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#listeners.clear();
    this.#pending.loseAll('the transport was closed');
    await this.#reading;
  }

  async #written(message: TransportRequest, id: string): Promise<string> {
    const { writesGoodMs, replyTimeoutMs, replyQueueUrl } = this.#options;
    const at = systemClock.wallMs();
    // A claim or heartbeat whose sender has stopped waiting must not be performed, because the
    // sender may be dead.
    const goodMs =
      message.kind === 'writeAsOwner' ? writesGoodMs : (message.timeoutMs ?? replyTimeoutMs);
    const claims = { to: 'coordinator', at, until: at + goodMs, replyTo: replyQueueUrl } as const;
    const envelope = toJson(envelopeOf(message, id));
    const queued: QueuedRequest = { ...claims, envelope };
    const text = this.#signer.sign(queued);
    if (text.length <= QUEUED_BYTES_MAX) return text;
    const parts = partsOf(envelope);
    for (const { digest, bytes } of parts) {
      await this.request({ kind: 'putBlob', body: { digest }, bytes });
    }
    const referring: QueuedRequest = { ...claims, parts: parts.map(({ digest }) => digest) };
    return this.#signer.sign(referring);
  }

  async #read(): Promise<void> {
    const { signal } = this.#stop;
    const { replyQueueUrl } = this.#options;
    while (!signal.aborted) {
      try {
        const waiting = { waitMs: HELD_MS, visibleMs: VISIBLE_MS, signal };
        for (const message of await this.#queues.receive(replyQueueUrl, waiting)) {
          this.#onFrame(message.body);
          this.#queues.delete(replyQueueUrl, message.receipt).catch(() => undefined);
        }
      } catch {
        await systemTimers.pause(PAUSE_MS, signal);
      }
    }
  }

  #onFrame(body: string): void {
    const verified = readReply(this.#signer, body, systemClock.wallMs());
    // No known key signed it, or it is too old.
    if (verified?.kind !== 'verified') return;
    const { wakeup, id, envelope, parts } = verified.claims;
    if (wakeup === true) for (const each of [...this.#listeners]) each();
    // Replies to an earlier process are of no use.
    else if (id?.startsWith(this.#life) !== true) return;
    else if (parts === undefined) this.#pending.settle(envelopeFromJson(envelope) as ReplyEnvelope);
    else void this.#gather(id, parts);
  }

  async #gather(id: string, digests: readonly string[]): Promise<void> {
    try {
      const parts = await Promise.all(
        digests.map((digest) => this.request<Uint8Array>({ kind: 'getBlob', body: { digest } })),
      );
      this.#pending.settle(envelopeFromJson(JSON.parse(joined(parts))) as ReplyEnvelope);
    } catch (cause) {
      this.#pending.lose(id, 'a part of its reply is missing', cause);
    }
  }
}

function readReply(
  signer: Signer,
  body: string,
  nowMs: number,
): ReturnType<typeof signer.verify<QueuedReply>> | undefined {
  try {
    return signer.verify<QueuedReply>(body, { to: 'worker', nowMs });
  } catch {
    return undefined;
  }
}
