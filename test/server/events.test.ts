import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readKey } from '../../src/features/access/model.ts';
import { pipeline } from '../../src/index.ts';
import { systemClock } from '../../src/support/clock.ts';
import { systemTimers } from '../../src/support/timer.ts';
import { refusedWith, TestCoordinator } from './coordinator.ts';

const waits = pipeline({
  name: 'waits',
  async run(ctx) {
    await ctx.step('one', () => 1);
    return ctx.receive('go');
  },
});

test('a history is streamed as it happens, and the stream ends with the execution', async () => {
  await using coordinator = await TestCoordinator.open();
  await coordinator.worker([waits]);
  const client = await coordinator.client(['submit'], 'default');
  const { id } = await client.executions.submit({ pipeline: 'waits' });
  const seen: string[] = [];
  for await (const { kind } of client.executions.watch(id)) {
    seen.push(kind);
    if (kind === 'step-completed') await client.executions.signal(id, 'go', 'now');
  }
  const all = await client.executions.history(id);
  assert.deepEqual(
    seen,
    all.map(({ kind }) => kind),
  );
  assert.equal(all.at(-1)?.kind, 'completed');
});

test('a client that reconnects gets the events after its last one', async () => {
  await using coordinator = await TestCoordinator.open();
  const client = await coordinator.client(['submit'], 'default');
  const { id } = await client.executions.submit({ pipeline: 'nobody' });
  await client.executions.cancel(id);
  const all = await client.executions.history(id);
  const key = await coordinator.key(['submit'], 'default');
  const textOf = async (path: string, headers: Record<string, string>): Promise<string> => {
    const authorization = `Bearer ${key}`;
    const url = `${coordinator.url}/v1/executions/${id}/events${path}`;
    const response = await fetch(url, { headers: { authorization, ...headers } });
    assert.equal(response.status, 200);
    return response.text();
  };
  for (const text of [
    await textOf('', { 'last-event-id': '1' }),
    await textOf('?after=1', {}),
    await textOf('?after=0', { 'last-event-id': '1' }),
  ]) {
    assert.deepEqual(
      [...text.matchAll(/^id: (.*)$/gm)].map(([, seq]) => Number(seq)),
      all.slice(1).map(({ seq }) => seq),
    );
    assert.match(text, /event: end\ndata: {"status":"cancelled"}\n\n$/);
  }
  const other = await coordinator.client(['submit'], 'other');
  await assert.rejects(other.executions.watch(id).next(), refusedWith('execution-unknown', 404));
});

test('list streams announce possible changes, and a reset after a restart', async () => {
  await using coordinator = await TestCoordinator.open();
  const client = await coordinator.client(['submit'], 'default');
  const [old] = await take(client.hints({ after: 'of another life.7' }), 1);
  assert.equal(old?.event, 'reset');
  const after = old?.id ?? '';
  await client.executions.submit({ pipeline: 'nobody' });
  const [changed] = await take(client.hints({ after }), 1);
  assert.equal(changed?.event, 'changed');
  assert.notEqual(changed?.id, after);
});

test('streams count as held open, and end when the coordinator stops', async () => {
  const coordinator = await TestCoordinator.open({ limits: { openMax: 1 } });
  const key = await coordinator.key(['submit'], 'default');
  const url = `${coordinator.url}/v1/events`;
  const headers = { authorization: `Bearer ${key}` };
  const held = await fetch(url, { headers });
  assert.match(held.headers.get('content-type') ?? '', /^text\/event-stream/);
  const refused = await fetch(url, { headers });
  assert.deepEqual(
    [refused.status, ((await refused.json()) as { code: string }).code],
    [429, 'too-many-open'],
  );
  const text = held.text().catch(() => 'cut off');
  await coordinator[Symbol.asyncDispose]();
  await text;
});

/** A clock that runs faster, since a coordinator checks keys only every few seconds. */
const TIMES = 50;
const hurried = {
  clock: { ...systemClock, monotonicMs: () => systemClock.monotonicMs() * TIMES },
  timers: {
    ...systemTimers,
    after: (ms: number, run: () => void) => systemTimers.after(ms / TIMES, run),
  },
};

test('the streams of a revoked key end', async () => {
  await using coordinator = await TestCoordinator.open(hurried);
  const client = await coordinator.client(['submit'], 'default');
  const { id } = await client.executions.submit({ pipeline: 'nobody' });
  const key = await coordinator.key(['submit'], 'default');
  const headers = { authorization: `Bearer ${key}` };
  const paths = ['/v1/events', `/v1/executions/${id}/events`];
  const streams = await Promise.all(
    paths.map((path) => fetch(`${coordinator.url}${path}`, { headers })),
  );
  const texts = streams.map((stream) => stream.text());
  await coordinator.store.access.revokeKey({ id: readKey(key)?.id ?? '' });
  for (const text of await Promise.all(texts)) assert.doesNotMatch(text, /event: end/);
  assert.equal((await client.executions.read(id)).status, 'queued', 'others are answered');
});

async function take<Item>(items: AsyncIterable<Item>, count: number): Promise<readonly Item[]> {
  const taken: Item[] = [];
  for await (const item of items) {
    taken.push(item);
    if (taken.length === count) break;
  }
  return taken;
}

test('a stream of hints begins with a ping, and pings while nothing else happens', async () => {
  await using coordinator = await TestCoordinator.onMemory({ auth: 'off', maintenance: false });
  const over = new AbortController();
  const response = await fetch(`${coordinator.url}/v1/events`, { signal: over.signal });
  const pings: number[] = [];
  let text = '';
  for await (const part of (response.body as ReadableStream<Uint8Array>).pipeThrough(
    new TextDecoderStream(),
  )) {
    text += part;
    pings.push(systemClock.monotonicMs());
    if (pings.length === 3) break;
  }
  over.abort();
  const ping = 'event: ping\ndata: {"everyMs":3000}\n\n';
  assert.equal(text, ping.repeat(3));
  const [first = 0, second = 0, third = 0] = pings;
  assert.ok(second - first > 2_500 && third - second > 2_500, `${pings}`);
});
