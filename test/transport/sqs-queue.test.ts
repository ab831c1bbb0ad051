import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { mustSubmit } from '../../contract/execution/worker.ts';
import { DEFAULT_PROJECT, parseExecutionId, parseProject } from '../../src/execution/names.ts';
import { WORK_VERSION } from '../../src/protocol/messages/envelope.ts';
import type { SqsOptions } from '../../src/server/serve.ts';
import { openServer } from '../../src/server/serve.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { digestOf } from '../../src/support/digest.ts';
import { systemTimers } from '../../src/support/timer.ts';
import { until } from '../server/coordinator.ts';
import { SqsStand } from './sqs-stand.ts';

const stand = await SqsStand.open();
after(() => stand.close());

async function played(
  options: SqsOptions,
  store: CoordinatorStore,
  play: () => Promise<void>,
): Promise<void> {
  const log = { info: () => undefined, fault: () => undefined };
  const server = await openServer({ store, port: 0, maintenance: false, log, sqs: options });
  try {
    await play();
  } finally {
    await server.close();
    await store.close();
  }
}

/** Every read of a digest goes through this. */
function withBlobs(getBlob: CoordinatorStore['executions']['getBlob']): CoordinatorStore {
  const store = openMemoryStore();
  return { ...store, executions: { ...store.executions, getBlob } };
}

const GET = { kind: 'getBlob', body: { digest: 'a'.repeat(64) } } as const;

/** A coordinator reads one value of a project at a time, but any number of awaits. */
const READ = {
  kind: 'readStoredAwait',
  body: { id: '01890a5d-c3d4-7a5b-9c6d-7e8f90a1b2c3' },
} as const;

function withAwaits(interaction: CoordinatorStore['executions']['interaction']): CoordinatorStore {
  const store = openMemoryStore();
  return { ...store, executions: { ...store.executions, interaction } };
}

test('M-14: a message that is handled for longer than it is hidden is not delivered again', async () => {
  let asked = 0;
  const store = withBlobs(async () => {
    asked += 1;
    await systemTimers.pause(2_500);
    return new Uint8Array([1]);
  });
  const options = stand.options(1_000);
  await played(options, store, async () => {
    const transport = await stand.transport(options);
    assert.deepEqual(await transport.request(GET), new Uint8Array([1]));
    assert.equal(asked, 1);
    await transport.close();
  });
});

test('M-14: a message whose coordinator died with it is delivered again, and answered', async () => {
  const options = stand.options(1_000);
  const replyTo = stand.queue('reply');
  const greeting = { kind: 'greet', body: {} } as const;
  await stand.queues.send(options.requestQueueUrl, stand.signed(greeting, 'none', replyTo));
  // A consumer takes it and falls silent.
  const { signal } = new AbortController();
  const taken = await stand.queues.receive(options.requestQueueUrl, {
    ...{ waitMs: 1_000, visibleMs: 1_000, signal },
  });
  assert.equal(taken.length, 1);
  await played(options, openMemoryStore(), async () => {
    const waiting = { waitMs: 20_000, visibleMs: 1_000, signal };
    assert.equal((await stand.queues.receive(replyTo, waiting)).length, 1);
  });
});

test('M-14: a message that can never be handled is put aside after five deliveries, and delays no other', async () => {
  const options = stand.options(1_000);
  const replyTo = stand.queue('reply');
  const text = stand.signed({ kind: 'greet' }, 'none', replyTo);
  // Its parts are missing: handling it throws, each time.
  const poison = stand.partsNowhere(replyTo);
  await played(options, openMemoryStore(), async () => {
    await stand.queues.send(options.requestQueueUrl, poison);
    const replies = await stand.exchange(
      { ...options, poisonQueueUrl: stand.queue('none') },
      { text, replyTo },
    );
    assert.equal(replies.length, 1);
    const { signal } = new AbortController();
    const waiting = { waitMs: 20_000, visibleMs: 1_000, signal };
    const parked = await stand.queues.receive(options.poisonQueueUrl, waiting);
    assert.deepEqual(
      parked.map(({ body }) => body),
      [poison],
    );
  });
});

test('P-18: a project has half of the places for its slow messages, and the others return later', async () => {
  const slow = Promise.withResolvers<undefined>();
  let begun = 0;
  const store = withAwaits(() => {
    begun += 1;
    return slow.promise;
  });
  const options = stand.options(30_000);
  const replyTo = stand.queue('reply');
  await played(options, store, async () => {
    const text = stand.signed(READ, 'none', replyTo);
    for (let nth = 0; nth < 120; nth += 1) await stand.queues.send(options.requestQueueUrl, text);
    const other = stand.queue('reply');
    const { signal } = new AbortController();
    const waiting = { waitMs: 20_000, visibleMs: 60_000, signal };
    // Its message comes after all others. With the second one, their turns have passed too.
    for (let nth = 0; nth < 2; nth += 1) {
      await stand.queues.send(options.requestQueueUrl, stand.ofStranger(other));
      assert.equal((await stand.queues.receive(other, waiting)).length, 1);
      await until(async () => (begun >= 50 ? true : undefined));
    }
    const places = begun;
    slow.resolve(undefined);
    assert.equal(places, 50);
    for (let replies = 0; replies < 120; ) {
      const received = await stand.queues.receive(replyTo, waiting);
      assert.ok(received.length > 0, `${replies} of 120 replies within 20 s`);
      replies += received.length;
    }
  });
});

test('M-14, P-18: a message that was postponed many times is handled, and not put aside', async () => {
  const slow = Promise.withResolvers<Uint8Array>();
  const store = withBlobs(() => slow.promise);
  const options = stand.options(30_000);
  const replyTo = stand.queue('reply');
  // The queue waits for nothing, so that postponed messages return at once.
  let postponed = 0;
  const client = {
    send(command: { input: object }, ...rest: readonly object[]) {
      const { input } = command;
      const time = (['DelaySeconds', 'VisibilityTimeout'] as const).find((name) => name in input);
      if (time !== undefined && !('WaitTimeSeconds' in input)) {
        Object.assign(input, { [time]: 0 });
        postponed += 1;
      }
      return stand.client.send(command as never, ...(rest as never[]));
    },
  } as SqsOptions['client'];
  await played({ ...options, client }, store, async () => {
    const text = stand.signed(GET, 'none', replyTo);
    for (let nth = 0; nth < 51; nth += 1) await stand.queues.send(options.requestQueueUrl, text);
    const { signal } = new AbortController();
    const waiting = { waitMs: 0, visibleMs: 60_000, signal };
    const parked = await until(async () => {
      const found = await stand.queues.receive(options.poisonQueueUrl, waiting);
      return postponed > 5 || found.length > 0 ? found : undefined;
    });
    slow.resolve(new Uint8Array([1]));
    assert.deepEqual(parked, []);
    for (let replies = 0; replies < 51; ) {
      const received = await stand.queues.receive(replyTo, { ...waiting, waitMs: 20_000 });
      assert.ok(received.length > 0, `${replies} of 51 replies within 20 s`);
      replies += received.length;
    }
  });
});

test('M-4, X-28: a message with parts of another project is handled as one with missing parts', async () => {
  const options = stand.options(1_000);
  const store = openMemoryStore();
  const greeting = { v: WORK_VERSION, id: 'stolen', kind: 'greet', body: {} };
  const bytes = new TextEncoder().encode(JSON.stringify(greeting));
  const digest = digestOf(bytes);
  await store.executions.putBlob({ project: parseProject('theirs'), digest, bytes });
  const replyTo = stand.queue('reply');
  const message = stand.referring(replyTo, digest);
  await played(options, store, async () => {
    const { signal } = new AbortController();
    await stand.queues.send(options.requestQueueUrl, message);
    const waiting = { waitMs: 20_000, visibleMs: 1_000, signal };
    const parked = await stand.queues.receive(options.poisonQueueUrl, waiting);
    assert.deepEqual(
      parked.map(({ body }) => body),
      [message],
    );
    const replies = await stand.queues.receive(replyTo, { ...waiting, waitMs: 0 });
    assert.deepEqual(replies, []);
  });
  const own = openMemoryStore();
  await own.executions.putBlob({ project: DEFAULT_PROJECT, digest, bytes });
  const others = stand.options(1_000);
  await played(others, own, async () => {
    const text = stand.referring(replyTo, digest);
    assert.equal((await stand.exchange(others, { text, replyTo })).length, 1);
  });
});

test('M-14: a message that names one part over and over is read up to the size limit only', async () => {
  const MIB = new Uint8Array(1_048_576);
  let asked = 0;
  const store = withBlobs(async () => {
    asked += 1;
    return MIB;
  });
  const options = stand.options();
  const message = stand.referring(stand.queue('reply'), ...Array<string>(200).fill('a'.repeat(64)));
  await played(options, store, async () => {
    await stand.queues.send(options.requestQueueUrl, message);
    const { signal } = new AbortController();
    const waiting = { waitMs: 20_000, visibleMs: 1_000, signal };
    assert.equal((await stand.queues.receive(options.poisonQueueUrl, waiting)).length, 1);
  });
  assert.equal(asked, 65, 'twice 32 MiB, and the one that was too much');
});

test('M-14: a body that is not a message is put aside at once', async () => {
  const options = stand.options();
  await played(options, openMemoryStore(), async () => {
    await stand.queues.send(options.requestQueueUrl, 'hf1.new.AAAA\n{');
    const { signal } = new AbortController();
    const waiting = { waitMs: 20_000, visibleMs: 1_000, signal };
    assert.equal((await stand.queues.receive(options.poisonQueueUrl, waiting)).length, 1);
  });
});

test("M-10: replies to a worker's earlier session, and foreign messages in its queue, are ignored", async () => {
  const options = stand.options();
  await played(options, openMemoryStore(), async () => {
    const own = stand.queue('reply');
    const greeting = stand.signed({ kind: 'greet', body: {} }, 'none', own);
    await stand.queues.send(options.requestQueueUrl, greeting);
    await stand.queues.send(own, 'hf1.new.AAAA\n{"to":"worker"}');
    const transport = await stand.transport(options, 'worker', own);
    const outcome = await transport.request<object>({ kind: 'greet' });
    assert.ok('policy' in outcome);
    await transport.close();
  });
});

test('M-14: waits for wakeups keep no other message from being handled', async () => {
  const options = stand.options();
  await played(options, openMemoryStore(), async () => {
    const wait = { kind: 'waitForWakeup', body: { waitMs: 20_000 } } as const;
    const text = stand.signed(wait, 'none', stand.queue('reply'));
    for (let nth = 0; nth < 130; nth += 1) await stand.queues.send(options.requestQueueUrl, text);
    const transport = await stand.transport(options, 'stranger');
    const outcome = await transport.request({ kind: 'greet', body: {} }).then(
      () => 'answered',
      ({ code }: { code: string }) => code,
    );
    assert.equal(outcome, 'answered');
    await transport.close();
  });
});

test('M-4, M-11: a worker that names the queue of another project takes none of its wakeups', async () => {
  const options = stand.options();
  const store = openMemoryStore();
  const own = stand.queue('reply');
  const { signal } = new AbortController();
  const waiting = { waitMs: 20_000, visibleMs: 1_000, signal };
  const next = async (): Promise<readonly string[]> => {
    const found = await stand.queues.receive(own, waiting);
    for (const { receipt } of found) await stand.queues.delete(own, receipt);
    return found.map(({ body }) => body);
  };
  await played(options, store, async () => {
    const greeting = stand.signed({ kind: 'greet', body: {} }, 'none', own);
    await stand.queues.send(options.requestQueueUrl, greeting);
    assert.equal((await next()).length, 1);
    await stand.queues.send(options.requestQueueUrl, stand.ofStranger(own));
    assert.match((await next())[0] ?? '', /^hf1\.strange\./);
    const wakeups: string[] = [];
    const count = (): number => wakeups.filter((body) => body.startsWith('hf1.new.')).length;
    // With the second wakeup, all messages of the first have arrived.
    for (const nth of [1, 2]) {
      await mustSubmit(store, {
        id: parseExecutionId(`01900000-0000-7000-8000-0000000000d${nth}`),
      });
      while (count() < nth) wakeups.push(...(await next()));
    }
    assert.ok(wakeups.every((body) => body.includes('"wakeup":true')));
    assert.ok(
      wakeups.every((body) => !body.startsWith('hf1.strange.')),
      'it is of another project',
    );
  });
});

test('M-4, M-13: a key with its own reply queues is answered in no others', async () => {
  const given = stand.options();
  const strange = stand.queue('reply');
  const keys = { ...given.keys };
  const options = {
    ...given,
    keys: { ...keys, strange: { ...keys['strange'], replyQueues: [strange] } },
  } as SqsOptions;
  await played(options, openMemoryStore(), async () => {
    const own = stand.queue('reply');
    const { signal } = new AbortController();
    const waiting = { waitMs: 20_000, visibleMs: 1_000, signal };
    const stolen = stand.ofStranger(own);
    await stand.queues.send(options.requestQueueUrl, stolen);
    const parked = await stand.queues.receive(options.poisonQueueUrl, waiting);
    assert.deepEqual(
      parked.map(({ body }) => body),
      [stolen],
    );
    await stand.queues.send(options.requestQueueUrl, stand.ofStranger(strange));
    assert.equal((await stand.queues.receive(strange, waiting)).length, 1);
    assert.deepEqual(await stand.queues.receive(own, { ...waiting, waitMs: 0 }), []);
  });
});

test('P-18, M-4: a key with its own request queue does not wait for another queue, and is handled in no other', async () => {
  const slow = Promise.withResolvers<undefined>();
  const given = stand.options();
  const own = stand.queue('request');
  const strange = { ...given.keys['strange'], requestQueueUrl: own };
  const options = { ...given, keys: { ...given.keys, strange } } as SqsOptions;
  const { signal } = new AbortController();
  const waiting = { waitMs: 20_000, visibleMs: 60_000, signal };
  let begun = 0;
  const store = withAwaits(() => {
    begun += 1;
    return slow.promise;
  });
  await played(options, store, async () => {
    const replyTo = stand.queue('reply');
    const text = stand.signed(READ, 'none', replyTo);
    for (let nth = 0; nth < 100; nth += 1) await stand.queues.send(options.requestQueueUrl, text);
    await until(async () => (begun >= 40 ? true : undefined));
    await stand.queues.send(own, stand.ofStranger(replyTo));
    assert.equal((await stand.queues.receive(replyTo, waiting)).length, 1);
    const elsewhere = stand.ofStranger(replyTo);
    await stand.queues.send(options.requestQueueUrl, elsewhere);
    slow.resolve(undefined);
    const parked = await stand.queues.receive(options.poisonQueueUrl, waiting);
    assert.deepEqual(
      parked.map(({ body }) => body),
      [elsewhere],
    );
  });
});
