// As much of SQS as is needed, by the AWS SDK: an optional peer, loaded when a queue is opened.

import type { SQSClient } from '@aws-sdk/client-sqs';
import { Fault } from '../../support/fault.ts';

/** An `SQSClient` of @aws-sdk/client-sqs; not by its name, so that nobody needs its types who has no queue. */
export interface SqsClient {
  send(command: never, options?: { abortSignal?: AbortSignal }): Promise<unknown>;
}

export interface QueueMessage {
  readonly body: string;
  readonly receipt: string;
  /** How often it was delivered, this time counted. */
  readonly deliveries: number;
}

export interface Queues {
  /** Waits for some, up to `waitMs`; none when there are none. */
  receive(
    url: string,
    waiting: { waitMs: number; visibleMs: number; signal: AbortSignal },
  ): Promise<readonly QueueMessage[]>;
  send(url: string, body: string): Promise<void>;
  delete(url: string, receipt: string): Promise<void>;
  /** It is delivered again after this long, unless it is deleted before. */
  hide(url: string, receipt: string, ms: number): Promise<void>;
}

const BATCH = 10;
const seconds = (ms: number): number => Math.ceil(ms / 1_000);

export async function sqsQueues(given: SqsClient): Promise<Queues> {
  const sdk = await loadSdk();
  const client = given as unknown as SQSClient;
  return {
    async receive(QueueUrl, { waitMs, visibleMs, signal }) {
      const command = new sdk.ReceiveMessageCommand({
        QueueUrl,
        MaxNumberOfMessages: BATCH,
        WaitTimeSeconds: seconds(waitMs),
        VisibilityTimeout: seconds(visibleMs),
        MessageSystemAttributeNames: ['ApproximateReceiveCount'],
      });
      const { Messages = [] } = await client.send(command, { abortSignal: signal });
      return Messages.map(({ Body = '', ReceiptHandle = '', Attributes }) => ({
        body: Body,
        receipt: ReceiptHandle,
        deliveries: Number(Attributes?.ApproximateReceiveCount ?? 1),
      }));
    },
    async send(QueueUrl, MessageBody) {
      await client.send(new sdk.SendMessageCommand({ QueueUrl, MessageBody }));
    },
    async delete(QueueUrl, ReceiptHandle) {
      await client.send(new sdk.DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
    },
    async hide(QueueUrl, ReceiptHandle, ms) {
      const VisibilityTimeout = seconds(ms);
      await client.send(
        new sdk.ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout }),
      );
    },
  };
}

async function loadSdk(): Promise<typeof import('@aws-sdk/client-sqs')> {
  try {
    return await import('@aws-sdk/client-sqs');
  } catch (cause) {
    throw new Fault(
      'driver-missing',
      'SQS needs the package "@aws-sdk/client-sqs". Install it beside holdfast: npm install @aws-sdk/client-sqs',
      { cause },
    );
  }
}
