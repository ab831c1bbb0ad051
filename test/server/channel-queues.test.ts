// Channels whose messages go to SQS queues.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { GetQueueAttributesCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { pipeline } from '../../src/index.ts';
import { signedAnswer } from '../services/webhook-receiver.ts';
import { SqsStand } from '../transport/sqs-stand.ts';
import { refusedWith, TestCoordinator, until } from './coordinator.ts';

const SIGNING = { keys: { k1: 'channel secret '.repeat(3) }, current: 'k1' };
const asks = pipeline({
  name: 'asks-bank',
  async run(ctx) {
    const answer = await ctx.await('payment');
    return answer.kind === 'answered' ? [answer.value, answer.actor] : answer.kind;
  },
});
const echo = pipeline({ name: 'echo', run: (_, input: unknown) => input });

interface OnQueue {
  readonly id: string;
  readonly type: string;
  readonly isSigned: boolean;
}

/** Reads a message as a receiver does: the attributes are the headers of a webhook. */
async function nextOn(stand: SqsStand, url: string, secret: string): Promise<OnQueue> {
  const { Messages = [] } = await stand.client.send(
    new ReceiveMessageCommand({
      ...{ QueueUrl: url, WaitTimeSeconds: 20, MessageAttributeNames: ['All'] },
    }),
  );
  const [{ Body = '', MessageAttributes = {} } = {}] = Messages;
  const header = (name: string): string => MessageAttributes[name]?.StringValue ?? '';
  const [id, seconds] = [header('webhook-id'), header('webhook-timestamp')];
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${seconds}.${Body}`).digest('base64');
  const { type } = JSON.parse(Body) as { readonly type: string };
  return { id, type, isSigned: header('webhook-signature') === `v1,${expected}` };
}

async function withQueues(
  run: (stand: SqsStand, coordinator: TestCoordinator, answers: string) => Promise<void>,
): Promise<void> {
  const stand = await SqsStand.open();
  const own = stand.queue('any').replace(/[^/]*$/, '{project}-*');
  const answersQueueUrl = stand.queue('answers');
  try {
    await using coordinator = await TestCoordinator.open({
      channels: {
        signing: SIGNING,
        sqs: { client: stand.client, queues: [own], answersQueueUrl },
        timeoutMs: 5_000,
      },
    });
    await run(stand, coordinator, answersQueueUrl);
  } finally {
    await stand.close();
  }
}

test('CH-2: a message arrives on a queue with its id and signature, also on a FIFO queue', () =>
  withQueues(async (stand, coordinator) => {
    const client = await coordinator.client(['operate', 'submit'], 'default');
    const queues = { plain: stand.queue('default'), ordered: stand.fifoQueue('default') };
    for (const [id, url] of Object.entries(queues)) {
      await client.channels.put(id, { kind: 'sqs', url, events: ['execution-ended'] });
    }
    await coordinator.worker([echo]);
    const { id } = await client.executions.submit({ pipeline: 'echo', input: 1 });
    const expected = { id: `execution-ended_${id}`, type: 'execution-ended', isSigned: true };
    for (const [name, url] of Object.entries(queues)) {
      const { secret } = await client.channels.secret(name);
      assert.deepEqual(await nextOn(stand, url, secret), expected, name);
    }
    const log = await until(async () => {
      const { items } = await client.channels.deliveries('ordered');
      return items[0]?.state === 'delivered' ? items : undefined;
    });
    assert.deepEqual([log.length, log[0]?.log[0]?.error], [1, undefined]);
  }));

test('CH-5: a queue that does not exist is an attempt that failed, with its reason', () =>
  withQueues(async (stand, coordinator) => {
    const client = await coordinator.client(['operate'], 'default');
    const url = `${stand.queue('default')}-missing`;
    await client.channels.put('lost', { kind: 'sqs', url, events: ['execution-ended'] });
    await client.channels.test('lost');
    const [attempt] = await until(async () => {
      const { items } = await client.channels.deliveries('lost');
      return items[0]?.log.length === 1 ? items[0].log : undefined;
    });
    assert.match(attempt?.error ?? '', /QueueDoesNotExist|NonExistentQueue/);
  }));

test('CH-13: only allowed queues of the own project can be the target of a channel', () =>
  withQueues(async (stand, coordinator) => {
    const client = await coordinator.client(['operate'], 'default');
    const own = stand.queue('default');
    const put = (url: string) =>
      client.channels.put('q', { kind: 'sqs', url, events: ['lease-lost'] });
    for (const url of [
      ...[own.replace(/default/, 'other'), 'http://169.254.169.254/latest', 'https://example.com/'],
      ...[own.replace(/[^/]*$/, 'default-x/../../1/other-1'), own.replace(/[^/]*$/, '{project}-*')],
      ...['x', own.replace('://', '://user:secret@')],
    ]) {
      await assert.rejects(put(url), refusedWith('invalid-input', 400), url);
    }
    const asWebhook = client.channels.put('q', {
      kind: 'webhook',
      url: own,
      events: ['lease-lost'],
    });
    await assert.rejects(asWebhook, refusedWith('invalid-input', 400));
    assert.deepEqual(await put(own), { changed: true });
    const other = await coordinator.client(['operate'], 'other');
    const taken = other.channels.put('q', { kind: 'sqs', url: own, events: ['lease-lost'] });
    await assert.rejects(taken, refusedWith('invalid-input', 400));
  }));

test('CH-16, CH-17: an answer on a queue reaches its question, and messages that do not fit stay in the queue', () =>
  withQueues(async (stand, coordinator, answersQueueUrl) => {
    const client = await coordinator.client(['operate', 'submit'], 'default');
    const url = stand.queue('default');
    await client.channels.put('bank', {
      ...{ kind: 'sqs', url, events: ['question-opened'], answers: true },
    });
    const { secret } = await client.channels.secret('bank');
    const place = { type: 'answer', execution: 'key:order-18', name: 'payment' };
    const answer = signedAnswer(secret, { content: { ...place, value: { paid: true } } });
    const message = { project: 'default', channel: 'bank', ...answer };
    const forged = { ...message, payload: message.payload.replace('true', 'false') };
    const { id } = await client.executions.submit({ pipeline: 'asks-bank', key: 'order-18' });
    await coordinator.worker([asks]);
    await until(async () => (await client.awaits.list({ execution: id })).items[0]);
    for (const each of ['no JSON', JSON.stringify(forged), JSON.stringify(message)]) {
      await stand.queues.send(answersQueueUrl, each);
    }
    const { output } = await client.executions.result(id);
    assert.deepEqual(output, [{ paid: true }, 'channel bank']);
    // The same message again changes nothing, and leaves the queue.
    await stand.queues.send(answersQueueUrl, JSON.stringify(message));
    await until(async () => ((await messagesIn(stand, answersQueueUrl)) === 2 ? true : undefined));
  }));

async function messagesIn(stand: SqsStand, url: string): Promise<number> {
  const { Attributes = {} } = await stand.client.send(
    new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['All'] }),
  );
  const { ApproximateNumberOfMessages: visible, ApproximateNumberOfMessagesNotVisible: hidden } =
    Attributes;
  return Number(visible) + Number(hidden);
}
