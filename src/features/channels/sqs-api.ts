// Sends a message to an SQS queue. The attributes of the message are the headers of a webhook, so a
// receiver checks both in the same way.

import type { SQSClient } from '@aws-sdk/client-sqs';
import { digestOf } from '../../support/digest.ts';
import { loadPackage } from '../../support/load-package.ts';
import type { SqsClient } from '../../support/sqs.ts';
import type { Timers } from '../../support/timer.ts';
import type { Transmit } from './sender-api.ts';

interface SqsParts {
  readonly client: SqsClient;
  readonly timeoutMs: number;
  readonly timers: Timers;
}

export function sqsSender({ client, timeoutMs, timers }: SqsParts): Transmit {
  return async ({ channel: { url }, text, headers, signal }) => {
    const sdk = await loadPackage(
      'SQS',
      '@aws-sdk/client-sqs',
      () => import('@aws-sdk/client-sqs'),
    );
    const attributes = Object.entries(headers).map(([name, StringValue]) => [
      name,
      { DataType: 'String', StringValue },
    ]);
    const digest = digestOf(Buffer.from(headers['webhook-id'] ?? ''));
    const command = new sdk.SendMessageCommand({
      ...{ QueueUrl: url, MessageBody: text, MessageAttributes: Object.fromEntries(attributes) },
      // Messages have no order, so each is a group.
      ...(url.endsWith('.fifo') && { MessageGroupId: digest, MessageDeduplicationId: digest }),
    });
    const over = new AbortController();
    const cancel = timers.after(timeoutMs, () => over.abort());
    try {
      const abortSignal = AbortSignal.any([over.signal, signal]);
      await (client as SQSClient).send(command, { abortSignal });
      return {};
    } catch (error) {
      const { name, message } = error as Error;
      return {
        error: over.signal.aborted ? `no response within ${timeoutMs} ms` : `${name}: ${message}`,
      };
    } finally {
      cancel();
    }
  };
}
