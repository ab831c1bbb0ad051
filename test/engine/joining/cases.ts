// Submits and signals in a transaction of the user: they and the user's rows are stored, or neither.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Holdfast, pipeline, type SubmitOptions } from '../../../src/index.ts';
import { until } from '../../server/coordinator.ts';
import type { JoiningVictim } from './victim.ts';

type Client = NonNullable<SubmitOptions['client']>;

/** A connection of the user to the database of the store. */
export interface User {
  readonly client: Client;
  run(sql: string): Promise<readonly object[]>;
  close(): Promise<void>;
}

export interface Joining {
  readonly holdfast: Holdfast;
  /** The file or the URL of the store. */
  readonly place: string;
  connect(): Promise<User>;
}

const order = pipeline({ name: 'order', run: (ctx, n: number) => ctx.step('add', () => n + 1) });
const waiting = pipeline({ name: 'waiting', run: (ctx) => ctx.receive('go') });
const long = pipeline({ name: 'long', run: async (_, text: string) => text.length });

let bought = 0;

/** Runs `work` in a transaction that also buys something, and returns whether that was stored. */
async function within<Result>(
  { connect }: Joining,
  end: 'commit' | 'rollback',
  work: (client: Client) => Promise<Result>,
): Promise<{ readonly result: Result; readonly isBought: boolean }> {
  const user = await connect();
  const n = ++bought;
  await user.run('begin');
  await user.run(`insert into bought values (${n})`);
  const result = await work(user.client);
  await user.run(end);
  const rows = await user.run(`select n from bought where n = ${n}`);
  await user.close();
  return { result, isBought: rows.length === 1 };
}

const VICTIM = join(import.meta.dirname, 'victim.ts');

/** Kills a process that submits, signals and buys `n` in one transaction. */
async function killed(victim: JoiningVictim): Promise<void> {
  const child = spawn(process.execPath, [VICTIM, JSON.stringify(victim)], { stdio: 'inherit' });
  const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
  assert.equal(signal, 'SIGKILL');
}

export function registerJoining(joining: Joining): void {
  const { holdfast, place } = joining;
  const { executions } = holdfast.store;

  test('X-10, X-59: an execution submitted with a client is there once its transaction commits, and runs', async () => {
    const { result: handle, isBought } = await within(joining, 'commit', async (client) => {
      const inside = await holdfast.submit(order, 1, { client, key: 'one' });
      assert.equal(await holdfast.read(inside.id), undefined, 'no other connection sees it yet');
      return inside;
    });
    assert.deepEqual([isBought, handle.existing], [true, false]);
    const worker = await holdfast.worker({ pipelines: [order] });
    assert.equal(await handle.result(), 2);
    await worker.stop();
  });

  test('X-10, X-59: a submit that is rolled back leaves nothing, and its key is free', async () => {
    const { result, isBought } = await within(joining, 'rollback', (client) =>
      holdfast.submit(order, 2, { client, key: 'two' }),
    );
    assert.deepEqual([isBought, await holdfast.read(result.id)], [false, undefined]);
    assert.equal((await holdfast.submit(order, 2, { key: 'two' })).existing, false);
  });

  test('X-59: the same key and intent is the same execution, another is refused, and the rest commits', async () => {
    const { id } = await holdfast.submit(order, 3, { key: 'three' });
    const { isBought, result } = await within(joining, 'commit', async (client) => {
      const same = await holdfast.submit(order, 3, { client, key: 'three' });
      assert.deepEqual([same.id, same.existing], [id, true]);
      const other = holdfast.submit(order, 4, { client, key: 'three' });
      await assert.rejects(other, { code: 'submit-refused' });
      const release = holdfast.submit(order, 4, { client, release: 'no-such' });
      await assert.rejects(release, { code: 'submit-refused' });
      return holdfast.submit(order, 5, { client });
    });
    assert.equal(isBought, true);
    assert.equal((await holdfast.read(result.id))?.status, 'queued');
  });

  test('X-59: a refused submit does not undo others that run at once on its connection', async () => {
    await holdfast.submit(order, 6, { key: 'six' });
    const { result } = await within(joining, 'commit', (client) =>
      Promise.allSettled([
        holdfast.submit(order, 7, { client, key: 'seven' }),
        holdfast.submit(order, 0, { client, key: 'six' }),
        holdfast.submit(order, 8, { client, key: 'eight' }),
      ]),
    );
    assert.deepEqual(
      result.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    for (const key of ['key:seven', 'key:eight']) {
      assert.equal((await holdfast.read(key))?.status, 'queued', key);
    }
  });

  test('X-59, X-105: a rollback undoes what ifKeyTaken did to the holder of a key', async () => {
    const old = await holdfast.submit(order, 9, { key: 'nine' });
    const replace = (client: Client): Promise<{ readonly id: string }> =>
      holdfast.submit(order, 10, { client, key: 'nine', ifKeyTaken: 'replace' });
    await within(joining, 'rollback', replace);
    assert.equal((await holdfast.read('key:nine'))?.id, old.id);
    assert.equal((await holdfast.read(old.id))?.status, 'queued');
    const { result } = await within(joining, 'commit', replace);
    assert.equal((await holdfast.read('key:nine'))?.id, result.id);
    assert.equal((await holdfast.read(old.id))?.status, 'cancelled');
  });

  test('X-59: options are stored as those of any submit', async () => {
    await holdfast.templates.put({ id: 'orders', version: 1, pipeline: 'order' });
    const options = {
      lane: 'batch',
      tags: ['red'],
      attributes: { size: 3 },
      concurrency: { key: 'one-slot', limit: 1 },
      deadlineMs: 3_600_000,
    } as const;
    const { concurrency } = options;
    const holder = await holdfast.submit(waiting, undefined, { key: 'holder', concurrency });
    const worker = await holdfast.worker({ pipelines: [waiting] });
    await until(async () => (await holdfast.read(holder.id))?.status === 'waiting' || undefined);
    const { result } = await within(joining, 'commit', (client) =>
      holdfast.submit({ template: 'orders' }, 11, { client, ...options }),
    );
    const first = await holdfast.read(result.id);
    const { lane, tags, attributes, template } = first ?? {};
    assert.deepEqual([lane, tags, attributes], ['batch', ['red'], { size: 3 }]);
    assert.deepEqual(template, { id: 'orders', version: 1 });
    assert.ok(first?.deadlineAt !== undefined);
    assert.deepEqual(first.holds, ['concurrency-limit']);
    const listed = await holdfast.list({ tag: 'red', attribute: { name: 'size', equals: 3 } });
    assert.equal(listed.items.length, 1);
    await holdfast.signal(holder.id, { name: 'go' });
    await holder.result();
    await worker.stop();
    const freed = await holdfast.read(result.id);
    assert.deepEqual(freed?.holds, []);
  });

  test('X-59: a large value is stored with its execution, or not at all', async () => {
    const blobs = async (): Promise<number> => {
      const user = await joining.connect();
      const rows = await user.run('select digest from blob');
      await user.close();
      return rows.length;
    };
    const before = await blobs();
    const submit = (client: Client) => holdfast.submit(long, 'x'.repeat(100_000), { client });
    await within(joining, 'rollback', submit);
    assert.equal(await blobs(), before);
    const { result } = await within(joining, 'commit', submit);
    assert.equal(await blobs(), before + 1);
    const worker = await holdfast.worker({ pipelines: [long] });
    assert.equal(await result.result(), 100_000);
    await worker.stop();
  });

  test('X-59, X-19: a signal arrives if its transaction commits, also for what that submitted', async () => {
    const { id } = await holdfast.submit(waiting, undefined, { key: 'listener' });
    const send = (value: string) => (client: Client) =>
      holdfast.signal('key:listener', { name: 'go', value, client });
    await within(joining, 'rollback', send('lost'));
    assert.equal((await holdfast.read(id))?.inboxCount, 0);
    const { result } = await within(joining, 'commit', send('kept'));
    assert.equal(result.kind, 'done');
    const started = await within(joining, 'commit', async (client) => {
      const handle = await holdfast.submit(waiting, undefined, { client, key: 'new listener' });
      await holdfast.signal('key:new listener', { name: 'go', value: 'at once', client });
      return handle;
    });
    const both = { client: undefined as never, key: 'both', signal: { name: 'go', value: 'both' } };
    const together = await within(joining, 'commit', (client) =>
      holdfast.submitOrSignal(waiting, undefined, { ...both, client }),
    );
    assert.equal(together.result.signalled.kind, 'done');
    const worker = await holdfast.worker({ pipelines: [waiting] });
    assert.equal(await holdfast.result(id), 'kept');
    assert.equal(await started.result.result(), 'at once');
    assert.equal(await holdfast.result(together.result.id), 'both');
    await worker.stop();
  });

  test('X-59, M-11: the commit wakes workers', async () => {
    const user = await joining.connect();
    const woken = Promise.withResolvers<void>();
    const stop = executions.onWakeup(() => woken.resolve());
    // The listener's own connection must listen before the commit.
    await holdfast.submit(order, 13);
    await woken.promise;
    stop();
    const again = Promise.withResolvers<void>();
    await user.run('begin');
    await holdfast.submit(order, 14, { client: user.client });
    const stopAgain = executions.onWakeup(() => again.resolve());
    await user.run('commit');
    await again.promise;
    stopAgain();
    await user.close();
  });

  for (const dieAt of ['before', 'after'] as const) {
    test(`X-59, X-110: a process killed ${dieAt} its commit leaves all or nothing`, async () => {
      const n = ++bought;
      await killed({ place, dieAt, n });
      const user = await joining.connect();
      const rows = await user.run(`select n from bought where n = ${n}`);
      await user.close();
      const execution = await holdfast.read(`key:killed ${dieAt}`);
      const expected = dieAt === 'after' ? [1, 1] : [0, undefined];
      assert.deepEqual([rows.length, execution?.inboxCount], expected);
    });
  }

  test('X-59: a client without an open transaction is refused', async () => {
    const user = await joining.connect();
    const none = /client .*has no open transaction\. Nothing was written/;
    await assert.rejects(holdfast.submit(order, 5, { client: user.client }), none);
    const message = { name: 'go', client: user.client };
    await assert.rejects(holdfast.signal('key:listener', message), none);
    await user.close();
    await assert.rejects(holdfast.submit(order, 5, { client: {} as never }), /client/);
    await assert.rejects(holdfast.submit(order, 5, { client: null as never }), /client/);
  });

  test('X-59, EX-1: a sealed store refuses', async () => {
    const user = await joining.connect();
    await user.run('begin');
    await user.run('rollback');
    await holdfast.store.seals.seal({ by: 'test' } as never);
    await user.run('begin');
    await assert.rejects(holdfast.submit(order, 5, { client: user.client }), {
      code: 'store-sealed',
    });
    await user.run('rollback');
    await user.close();
  });
}
