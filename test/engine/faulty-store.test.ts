import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultyStore } from '../../contract/index.ts';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import { newKey } from '../../src/features/access/model.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { OutcomeUnknown, StoreUnavailable } from '../../src/support/fault.ts';
import { seededRandom } from '../../src/support/random.ts';
import { runSeed } from '../services/tier.ts';
import { pause } from './stage.ts';

const EXECUTIONS = 40;

/** Repeats a submit with a key, as a caller would. */
async function untilReplied<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await call();
    } catch (fault) {
      if (!(fault instanceof StoreUnavailable) && !(fault instanceof OutcomeUnknown)) throw fault;
    }
  }
}

test('if answers of the store are lost at random, every execution still ends exactly once', async () => {
  const random = seededRandom(runSeed());
  const memory = openMemoryStore();
  const faulty = faultyStore(memory);
  const effects: string[] = [];
  const halving = pipeline({
    name: 'halving',
    run: (ctx, n: number) =>
      ctx.step('halve', ({ idempotencyKey }) => {
        effects.push(idempotencyKey);
        return n / 2;
      }),
  });
  const working = pipeline({
    name: 'working',
    async run(ctx, n: number) {
      const work = (name: string): Promise<number> =>
        ctx.step(name, ({ idempotencyKey }) => effects.push(idempotencyKey));
      await Promise.all([work('a'), work('b')]);
      await ctx.sleep(60);
      const child = await ctx.spawn(halving, n * 2);
      await work('c');
      return (await child.result()) + (await ctx.receive<number>('more'));
    },
  });
  const holdfast = new Holdfast({ store: faulty.store, parkAfterMs: 20, random });
  await holdfast.worker({ pipelines: [working, halving], pollMs: 20, ttlMs: 60_000 });
  faulty.failBy((verb) => {
    if (!verb.startsWith('executions.')) return undefined;
    const dice = random.next();
    if (dice < 0.2) return 'lost-answer';
    return dice < 0.3 ? 'unavailable' : undefined;
  });

  const outputs = await Promise.all(
    Array.from({ length: EXECUTIONS }, async (_, n) => {
      const submit = () => holdfast.submit(working, n, { key: `working/${n}` });
      const { id, result } = await untilReplied(submit);
      // A lost answer can send this signal twice; the code receives only the first.
      await untilReplied(() => holdfast.signal(id, { name: 'more', value: 1 }));
      return result({ signal: AbortSignal.timeout(30_000) });
    }),
  );
  faulty.heal();

  assert.deepEqual(
    outputs,
    Array.from({ length: EXECUTIONS }, (_, n) => n + 1),
  );
  const { items } = await holdfast.list({ limit: 1_000 });
  assert.equal(items.length, 2 * EXECUTIONS, 'nothing was submitted or spawned twice');
  for (const { id, status } of items) {
    assert.equal(status, 'completed');
    const ends = (await holdfast.history(id)).filter(({ kind }) => kind === 'completed');
    assert.equal(ends.length, 1);
  }
  assert.equal(effects.length, 4 * EXECUTIONS, 'no worker died, so no step ran twice');
  assert.equal(new Set(effects).size, effects.length);
  await holdfast.close();
  await memory.close();
});

test('X-17: a cancel that comes between claim and start is seen, though nothing is written', async (t) => {
  const memory = openMemoryStore();
  const { store, fail, unhang, calls } = faultyStore(memory);
  const holdfast = new Holdfast({ store });
  t.after(() => holdfast.close());
  const waiting = pipeline({
    name: 'waiting',
    run: (ctx) => ctx.step('hang', () => new Promise<never>(() => undefined)),
  });
  const open = () => holdfast.worker({ pipelines: [waiting], pollMs: 20, ttlMs: 1_500 });
  const first = await open();
  const { id, result } = await holdfast.submit(waiting, undefined);
  while (first.running === 0) await pause(5);
  fail('executions.history', 'hung-before');
  first.crash();
  const by = { kind: 'operator', actor: 'test', reason: 'crash' } as const;
  await memory.sessions.end({ id: first.session, by });
  await open();
  while (calls.get('executions.history') === undefined) await pause(5);
  assert.equal((await holdfast.cancel(id)).kind, 'forwarded');
  const heartbeats = calls.get('sessions.heartbeat') ?? 0;
  while ((calls.get('sessions.heartbeat') ?? 0) < heartbeats + 2) await pause(5);
  unhang();
  await assert.rejects(result({ signal: AbortSignal.timeout(5_000) }), { status: 'cancelled' });
});

test('RE-10: a store that is away while an open execution is replayed does not break it', async (t) => {
  const memory = openMemoryStore();
  const faulty = faultyStore(memory);
  const holdfast = new Holdfast({ store: faulty.store, parkAfterMs: 20 });
  t.after(() => holdfast.close());
  const order = pipeline({
    name: 'order',
    async run(ctx) {
      await ctx.step('print', () => 'a large value '.repeat(100_000));
      await ctx.step('charge', () => 1);
      await ctx.receive('go');
    },
  });
  const plain = await holdfast.worker({ pipelines: [order], pollMs: 20 });
  const { id } = await holdfast.submit(order, undefined);
  while ((await holdfast.read(id))?.status !== 'waiting') await pause(5);
  await plain.stop();
  const build = { name: 'v1', digest: 'sha256:v1' };
  await holdfast.releases.register({ pipeline: order, ...build, artifact: 'image' });
  await holdfast.worker({ pipelines: [order], release: build, pollMs: 20 });
  for (const away of ['executions.read', 'executions.history', 'executions.getBlob']) {
    // Reads of one execution follow each other.
    let isReading = false;
    let failed = 0;
    faulty.failBy((verb) => {
      isReading ||= verb === 'executions.read';
      if (!isReading || verb !== away || failed === 2) return undefined;
      failed += 1;
      return 'unavailable';
    });
    const found = await holdfast.releases.preflight('order', 'v1');
    assert(found.kind === 'replayed', JSON.stringify(found));
    assert.deepEqual([found.replayed, found.broken, failed], [1, [], 2], away);
  }
});

test('P-6: a first key whose answer was lost is found when it is requested again', async () => {
  const memory = openMemoryStore();
  const faulty = faultyStore(memory);
  const { id, digest } = newKey();
  const first = { id, digest, name: 'first', roles: ['admin'], first: true } as const;
  faulty.fail('access.createKey', 'unavailable');
  faulty.fail('access.createKey', 'lost-answer');
  const answer = await untilReplied(() => faulty.store.access.createKey(first));
  assert.deepEqual(answer, { kind: 'created', existing: true });
  assert.equal(faulty.calls.get('access.createKey'), 3);
  await memory.close();
});
