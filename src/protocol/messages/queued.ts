// A message in a queue: signed, with the queue for its reply. Messages above the size limit are
// split: their parts go into the coordinator's store under their digests, where every node finds
// them.

import type { SQSClient } from '@aws-sdk/client-sqs';
import { digestOf } from '../../support/digest.ts';
import { loadPackage } from '../../support/load-package.ts';
import type { SqsClient } from '../../support/sqs.ts';
import type { ReplyEnvelope, RequestEnvelope } from './envelope.ts';
import type { SignedClaims } from './signing.ts';

/** Bytes in JSON are base64. */
type InJson<Envelope> = Omit<Envelope, 'bytes'> & { readonly bytes?: string };

export interface QueuedRequest extends SignedClaims {
  readonly to: 'coordinator';
  readonly replyTo: string;
  readonly envelope?: InJson<RequestEnvelope>;
  /** The digests of the envelope's JSON, in order, instead of the envelope. */
  readonly parts?: readonly string[];
}

export interface QueuedReply extends SignedClaims {
  readonly to: 'worker';
  /** The id of the request, for workers that share a queue. */
  readonly id?: string;
  readonly envelope?: InJson<ReplyEnvelope>;
  readonly parts?: readonly string[];
  /** An execution may have become ready. */
  readonly wakeup?: true;
}

export function toJson<Envelope extends { readonly bytes?: Uint8Array }>(
  envelope: Envelope,
): InJson<Envelope> {
  const { bytes, ...rest } = envelope;
  if (bytes === undefined) return rest as InJson<Envelope>;
  return { ...rest, bytes: Buffer.from(bytes).toString('base64') } as InJson<Envelope>;
}

export function envelopeFromJson(envelope: unknown): unknown {
  const { bytes } = (envelope ?? {}) as { readonly bytes?: unknown };
  if (typeof bytes !== 'string') return envelope;
  return { ...(envelope as object), bytes: new Uint8Array(Buffer.from(bytes, 'base64')) };
}

/** A message in SQS may have 256 KiB; each part is base64 in a message of its own. */
export const QUEUED_BYTES_MAX = 250_000;
const PART_BYTES = 150_000;

interface Part {
  readonly digest: string;
  readonly bytes: Uint8Array;
}

export function partsOf(envelope: object): readonly Part[] {
  const bytes = Buffer.from(JSON.stringify(envelope));
  const count = Math.ceil(bytes.length / PART_BYTES);
  return Array.from({ length: count }, (_, nth) => {
    const part = new Uint8Array(bytes.subarray(nth * PART_BYTES, (nth + 1) * PART_BYTES));
    return { digest: digestOf(part), bytes: part };
  });
}

export function joined(parts: readonly Uint8Array[]): string {
  return Buffer.concat(parts).toString();
}

// The needed part of SQS, through the AWS SDK: an optional peer dependency, loaded when a queue
// opens.

export interface QueueMessage {
  readonly body: string;
  readonly receipt: string;
  /** The number of deliveries, including this one, without those after which it was postponed. */
  readonly deliveries: number;
}

export interface Queues {
  /** Waits up to `waitMs` for messages; may return none. */
  receive(
    url: string,
    waiting: { waitMs: number; visibleMs: number; signal: AbortSignal },
  ): Promise<readonly QueueMessage[]>;
  send(url: string, body: string): Promise<void>;
  /**
   * Moves the message to the end of the queue, for at least this time. The delivery does not count:
   * `hide` would leave it in the queue's own count.
   */
  postpone(url: string, message: QueueMessage, ms: number): Promise<void>;
  delete(url: string, receipt: string): Promise<void>;
  /** SQS delivers the message again after this time, unless it is deleted before. */
  hide(url: string, receipt: string, ms: number): Promise<void>;
}

const BATCH = 10;
/** The attribute of a postponed message with its deliveries until then. */
const DELIVERIES = 'holdfast-deliveries';
const seconds = (ms: number): number => Math.ceil(ms / 1_000);

export async function sqsQueues(given: SqsClient): Promise<Queues> {
  const sdk = await loadPackage('SQS', '@aws-sdk/client-sqs', () => import('@aws-sdk/client-sqs'));
  const client = given as SQSClient;
  const remove = async (QueueUrl: string, ReceiptHandle: string): Promise<void> => {
    await client.send(new sdk.DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
  };
  return {
    async receive(QueueUrl, { waitMs, visibleMs, signal }) {
      const command = new sdk.ReceiveMessageCommand({
        QueueUrl,
        MaxNumberOfMessages: BATCH,
        WaitTimeSeconds: seconds(waitMs),
        VisibilityTimeout: seconds(visibleMs),
        MessageSystemAttributeNames: ['ApproximateReceiveCount'],
        MessageAttributeNames: [DELIVERIES],
      });
      const { Messages = [] } = await client.send(command, { abortSignal: signal });
      return Messages.map(({ Body = '', ReceiptHandle = '', Attributes, MessageAttributes }) => ({
        body: Body,
        receipt: ReceiptHandle,
        deliveries:
          Number(Attributes?.ApproximateReceiveCount ?? 1) +
          // Any sender can set it.
          Math.max(0, Number(MessageAttributes?.[DELIVERIES]?.StringValue) || 0),
      }));
    },
    async send(QueueUrl, MessageBody) {
      await client.send(new sdk.SendMessageCommand({ QueueUrl, MessageBody }));
    },
    async postpone(QueueUrl, { body, receipt, deliveries }, ms) {
      await client.send(
        new sdk.SendMessageCommand({
          ...{ QueueUrl, MessageBody: body, DelaySeconds: seconds(ms) },
          MessageAttributes: {
            [DELIVERIES]: { DataType: 'Number', StringValue: String(deliveries - 1) },
          },
        }),
      );
      await remove(QueueUrl, receipt);
    },
    delete: remove,
    async hide(QueueUrl, ReceiptHandle, ms) {
      const VisibilityTimeout = seconds(ms);
      await client.send(
        new sdk.ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout }),
      );
    },
  };
}
