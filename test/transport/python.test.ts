import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { parseProject } from '../../src/execution/names.ts';
import { Holdfast, pipeline, remoteStep } from '../../src/index.ts';
import { openServer } from '../../src/server/serve.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { openWorker } from '../../src/worker/open-worker.ts';
import { makeKey } from './backend.ts';

const WORKER = join(import.meta.dirname, '../../examples/python-worker/worker.py');

const score = remoteStep<{ readonly text: unknown }, { readonly vowels: number }>({
  name: 'score',
});

const review = pipeline({
  name: 'review',
  async run(ctx, input: { readonly text: unknown }) {
    const { vowels } = await ctx.call(score, input);
    return ctx.step('judge', () => (vowels > 2 ? 'singable' : 'hard'));
  },
});

/** It has told something; how it ended, where it told nothing. */
async function heard(child: ChildProcess): Promise<object> {
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const [line] = (await Promise.race([once(lines, 'line'), once(child, 'exit')])) as [string];
  return JSON.parse(line);
}

test('M-12: a worker in Python hosts a remote step over REST, and its failures are those of a step', async () => {
  const store = openMemoryStore();
  const key = await makeKey(store, 'default');
  const server = await openServer({ store, port: 0, tends: false });
  const child = spawn('python3', [WORKER], {
    env: { ...process.env, HOLDFAST_URL: server.url, HOLDFAST_KEY: key },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  assert.equal(((await heard(child)) as { hosting?: string }).hosting, 'score');
  const workers = await store.executions.workers({ project: parseProject('default'), limit: 9 });
  assert.deepEqual(workers[0]?.pipelines, ['score']);
  const worker = await openWorker({ url: server.url, key, pipelines: [review], pollMs: 50 });
  const holdfast = new Holdfast({ store });
  const good = await holdfast.submit(review, { text: 'Aloha' });
  assert.equal(await good.result(), 'singable');
  const bad = await holdfast.submit(review, { text: 7 });
  const failed = await bad.result().catch((error: unknown) => error);
  assert.match(String(failed), /text must be text/);
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [0, null]);
  await worker.stop();
  await holdfast.close();
  await server.close();
  await store.close();
});

test('a worker in Python that finds no coordinator says so in one line, and begins when there is one', async () => {
  const store = openMemoryStore();
  const key = await makeKey(store, 'default');
  const found = await openServer({ store, port: 0, tends: false });
  const { port } = new URL(found.url);
  await found.close();
  const child = spawn('python3', [WORKER], {
    env: { ...process.env, HOLDFAST_URL: found.url, HOLDFAST_KEY: key },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let problems = '';
  const told = new Promise<void>((resolve) => {
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      problems += text;
      resolve();
    });
  });
  await told;
  const server = await openServer({ store, port: Number(port), tends: false });
  assert.equal(((await heard(child)) as { hosting?: string }).hosting, 'score');
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [0, null]);
  assert.match(problems, /^No coordinator answers at http:\S+ \(.*\); trying again\. .*\n$/);
  await server.close();
  await store.close();
});
