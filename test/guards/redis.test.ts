import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createClient } from 'redis';
import { ioredis, nodeRedis, type RedisCommand, RedisGuard } from '../../src/guards/redis.ts';
import { type PrivateRedis, startRedis } from '../services/redis.ts';
import { FIRST, SECOND, THIRD } from './fences.ts';
import { type OpenResource, testGuard } from './register.ts';
import type { Holder, Resource } from './schedules.ts';

const TURNS = 10;

let redis: PrivateRedis | undefined;

before(async () => {
  // Flushing each write to disk protects against power failures, which are not the subject here.
  redis = await startRedis({ appendfsync: 'no' });
});

after(async () => {
  await redis?.stop();
});

type Client = ReturnType<typeof createClient>;

async function connect(): Promise<Client> {
  const client: Client = createClient({ socket: { path: redis?.socket ?? '', tls: false } });
  await client.connect();
  return client;
}

class RedisResource implements Resource {
  readonly #clients: readonly Client[];
  readonly #guards: readonly RedisGuard[];

  constructor(clients: readonly Client[]) {
    this.#clients = clients;
    this.#guards = clients.map((client) => new RedisGuard(nodeRedis(client)));
  }

  async admit({ index, fenced, mode }: Holder): Promise<boolean> {
    if (mode === 'unguarded') return true;
    return (await this.#guards[index]?.admit(fenced))?.kind === 'current';
  }

  async write(holder: Holder): Promise<boolean> {
    const { index, fenced, mode } = holder;
    const list = `effects:${fenced.key}`;
    if (mode === 'read-first') {
      const mark = await this.#clients[index]?.get(`holdfast:fence:${fenced.key}`);
      if (Number(mark ?? 0) > fenced.fence) return false;
    }
    await holder.pause();
    holder.sending();
    if (mode !== 'guarded') {
      await this.#clients[index]?.rPush(list, String(fenced.fence));
      return true;
    }
    const answer = await this.#guards[index]?.write(fenced, [
      ['rpush', list, String(fenced.fence)],
      ['hset', `account:${fenced.key}`, 'fence', String(fenced.fence)],
    ]);
    return answer?.kind === 'written';
  }

  async effects(key: string): Promise<readonly number[]> {
    const found = await this.#clients[0]?.lRange(`effects:${key}`, 0, -1);
    return (found ?? []).map(Number);
  }

  async breathe(): Promise<void> {
    for (let turns = 0; turns < TURNS; turns += 1) await nextTurn();
  }
}

async function openRedis(): Promise<OpenResource> {
  const clients: Client[] = [];
  return {
    async resource() {
      const own = await Promise.all([0, 1, 2].map(connect));
      clients.push(...own);
      return new RedisResource(own);
    },
    async close() {
      await clients[0]?.flushAll();
      for (const client of clients) client.destroy();
    },
  };
}

testGuard({ name: 'Redis guard', open: openRedis, lanes: 4 });

async function open(t: TestContext): Promise<{ client: Client; guard: RedisGuard }> {
  const client = await connect();
  t.after(() => client.destroy());
  await client.flushAll();
  return { client, guard: new RedisGuard(nodeRedis(client)) };
}

test('a lower fence is refused, an equal one passes, a higher one raises', async (t) => {
  const { guard, client } = await open(t);
  const stale = { kind: 'stale', resource: 'a', presented: FIRST, newest: SECOND };
  assert.deepEqual(await guard.admit({ key: 'a', fence: SECOND }), { kind: 'current' });
  assert.deepEqual(await guard.admit({ key: 'a', fence: SECOND }), { kind: 'current' });
  assert.deepEqual(await guard.write({ key: 'a', fence: FIRST }, [['set', 'x', 'old']]), stale);
  assert.equal(await client.get('x'), null, 'a stale write does nothing');
  assert.deepEqual(await guard.admit({ key: 'a', fence: FIRST }), stale, 'never lowered');
  assert.deepEqual(await guard.admit({ key: 'b', fence: FIRST }), { kind: 'current' });
  assert.deepEqual(await guard.admit({ key: 'a', fence: THIRD }), { kind: 'current' });
  assert.equal(await client.get('holdfast:fence:a'), String(THIRD), 'every digit is kept');
});

test('commands run in order, with their replies, nothing lost on the way', async (t) => {
  const { guard } = await open(t);
  const answer = await guard.write({ key: 'ключ', fence: FIRST }, [
    ['get', 'none'],
    ['set', 'x', 'grüße "\n'],
    ['get', 'x'],
    ['hset', 'h', 'f', '1', 'g', '2'],
  ]);
  assert.deepEqual(answer, { kind: 'written', replies: [null, 'OK', 'grüße "\n', 2] });
});

test('fences that differ in the last digit below 2^53 are distinguished', async (t) => {
  const { guard } = await open(t);
  const high = (2 ** 13 - 2) * 2 ** 40 + 2 ** 40 - 1;
  const [lower, upper] = [high - 1, high].map((fence) => ({
    key: 'a',
    fence: fence as typeof FIRST,
  }));
  assert.ok(lower !== undefined && upper !== undefined);
  assert.equal((await guard.admit(upper)).kind, 'current');
  assert.equal((await guard.admit(lower)).kind, 'stale');
});

test('a mark that no guard wrote, or an invalid command, is a fault', async (t) => {
  const { guard, client } = await open(t);
  const fenced = { key: 'a', fence: FIRST };
  await client.set('holdfast:fence:a', 'x');
  await assert.rejects(guard.admit(fenced), /not a fence/);
  // @ts-expect-error a command has a key
  await assert.rejects(guard.write(fenced, [['flushall']]), /its name, its key/);
  const deaf = new RedisGuard(async () => 'OK');
  await assert.rejects(deaf.admit(fenced), /what EVAL returns/);
});

test('a mark that is not a whole number lets nothing pass', async (t) => {
  const { guard, client } = await open(t);
  for (const mark of ['nan', 'inf', '0x10', '1e3', '-1', '', ' 5', '5.5']) {
    await client.set('holdfast:fence:a', mark);
    const write = guard.write({ key: 'a', fence: FIRST }, [['set', 'x', '1']]);
    await assert.rejects(write, /not a fence/, mark);
    assert.equal(await client.get('x'), null, mark);
  }
});

test('commands on marks are refused before anything is sent', async (t) => {
  const { guard, client } = await open(t);
  const late = { key: 'a', fence: SECOND };
  await guard.admit(late);
  for (const key of ['holdfast:fence:a', 'holdfast:fence:b']) {
    const write = guard.write(late, [
      ['set', 'x', '1'],
      ['del', key],
    ]);
    await assert.rejects(write, /only guards write marks/);
  }
  const elsewhere = new RedisGuard(nodeRedis(client), { markKey: (resource) => `m:${resource}` });
  await assert.rejects(elsewhere.write(late, [['del', 'm:a']]), /only guards write marks/);
  assert.equal((await elsewhere.write(late, [['set', 'm', '1']])).kind, 'written');
  assert.equal(await client.get('x'), null);
});

test('the mark stays, whatever the commands do', async (t) => {
  const { guard, client } = await open(t);
  const late = { key: 'a', fence: SECOND };
  const mark = 'holdfast:fence:a';
  const attacks: readonly (readonly RedisCommand[])[] = [
    [['del', 'x', mark]],
    [['mset', 'x', '1', mark, '0']],
    [['flushall', 'sync']],
    [
      ['set', 'x', 'soon gone'],
      ['rename', 'x', mark],
    ],
    [
      ['rpush', 'l', '1'],
      ['rename', 'l', mark],
    ],
    [
      ['set', 'x', '0', 'px', '100000'],
      ['copy', 'x', mark, 'replace'],
    ],
  ];
  for (const commands of attacks) {
    assert.equal((await guard.write(late, commands)).kind, 'written');
    assert.equal((await guard.admit({ key: 'a', fence: FIRST })).kind, 'stale');
    assert.equal(await client.pTTL(mark), -1);
  }
  const failing = guard.write(late, [
    ['del', 'x', mark],
    ['incr', 'x'],
    ['rpush', 'x', '1'],
  ]);
  await assert.rejects(failing, /WRONGTYPE/);
  assert.equal(await client.get(mark), String(SECOND));
});

test('commands of any length run or are refused as a whole', async (t) => {
  const { guard, client } = await open(t);
  const fenced = { key: 'a', fence: FIRST };
  const words = (count: number): RedisCommand[] => [
    ['set', 'first', '1'],
    ['rpush', 'l', ...Array<string>(count - 2).fill('x')],
  ];
  assert.equal((await guard.write(fenced, words(7_000))).kind, 'written');
  await client.del('first');
  await assert.rejects(guard.write(fenced, words(7_001)), /at most 7000 words/);
  assert.equal(await client.get('first'), null);
});

test('the adapters call EVAL as each client expects', async () => {
  const calls: unknown[] = [];
  const evaluate = ioredis({
    async eval(...args) {
      calls.push(args);
      return ['written'];
    },
  });
  const guard = new RedisGuard(evaluate, { markKey: (resource) => `{${resource}}:fence` });
  await guard.write({ key: 'a', fence: FIRST }, [['set', '{a}:x', '1']]);
  assert.deepEqual(
    calls.map((call) => (Array.isArray(call) ? call.slice(1) : call)),
    [[2, '{a}:fence', '{a}:x', String(FIRST), '3', 'set', '{a}:x', '1']],
  );
});
