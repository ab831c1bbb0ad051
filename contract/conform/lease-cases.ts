// Cases about leases that the worker holds with the messages of the lease protocol.

import { systemRandom } from '../../src/support/random.ts';
import type { ConformanceCase } from './conformance-case.ts';
import { type Exchange, type ObservedMessage, replyLost } from './fault-proxy.ts';
import { kindIn, requireSame, requireThat, type Stage } from './stage.ts';

interface Held {
  readonly fence: number;
  readonly found: string | null;
}

function isAbout(kind: ObservedMessage['kind'], key: string): (each: ObservedMessage) => boolean {
  return (each) => each.kind === kind && each.body['key'] === key;
}

async function holdOnce(stage: Stage, key: string, text: string): Promise<Held> {
  const id = await stage.submit('conform-lease', { key, text });
  return (await stage.output(id)) as Held;
}

/** The attempts with which the worker asked for the key. */
function attemptsFor(exchanges: readonly Exchange[], key: string): readonly string[] {
  const asked = exchanges.filter(isAbout('acquireLease', key));
  return [...new Set(asked.map(({ body }) => String(body['attempt'])))];
}

async function handsOver(stage: Stage): Promise<void> {
  const key = `conform/${systemRandom.uuid()}`;
  const first = await holdOnce(stage, key, 'page 1');
  const second = await holdOnce(stage, key, 'page 2');
  requireSame('The checkpoint that the first holder found', first.found, null);
  requireSame('The checkpoint that the second holder found', second.found, 'page 1');
  requireThat(
    second.fence > first.fence,
    `The second holder returned the fence ${second.fence}, after ${first.fence}.`,
  );
  const releases = stage.exchanges.filter(isAbout('releaseLease', key));
  requireSame(
    'The fences of the releases',
    releases.map(({ body }) => body['fence']),
    [first.fence, second.fence],
  );
}

async function repeatsAcquire(stage: Stage): Promise<void> {
  const key = `conform/${systemRandom.uuid()}`;
  stage.proxy.plan(isAbout('acquireLease', key), replyLost);
  const { found } = await holdOnce(stage, key, 'page 1');
  requireSame('The checkpoint that the holder found', found, null);
  const attempts = attemptsFor(stage.exchanges, key);
  requireThat(
    attempts.length === 1,
    `After a lost reply, the worker acquired with ${attempts.length} different attempts. The first may hold the key.`,
  );
}

async function waitsInQueue(stage: Stage): Promise<void> {
  const key = `conform/${systemRandom.uuid()}`;
  const release = await stage.holdElsewhere(key);
  const id = await stage.submit('conform-lease', { key, text: 'mine' });
  await stage.until('the worker did not join the queue of the key', () =>
    stage.exchanges.find(
      (each) => isAbout('acquireLease', key)(each) && kindIn(each.reply?.json) === 'queued',
    ),
  );
  await release();
  await stage.output(id);
  requireSame('The number of attempts', attemptsFor(stage.exchanges, key).length, 1);
}

export const leaseCases: readonly ConformanceCase[] = [
  {
    name: 'lease',
    upholds: 'A-1, K-1',
    section: 'check-your-worker',
    expects:
      'A holder saves a checkpoint and releases with its fence; the next one gets the checkpoint under a higher fence.',
    hosts: ['conform-lease'],
    run: handsOver,
  },
  {
    name: 'lease-lost-reply',
    upholds: 'A-3',
    section: 'check-your-worker',
    expects: 'After a lost reply to an acquire, the worker repeats it with the same attempt.',
    hosts: ['conform-lease'],
    run: repeatsAcquire,
  },
  {
    name: 'lease-wait',
    upholds: 'A-7, M-41',
    section: 'check-your-worker',
    expects:
      'A worker waits in the queue of a key that is held, with one attempt, and gets it when it is released.',
    hosts: ['conform-lease'],
    run: waitsInQueue,
  },
];
