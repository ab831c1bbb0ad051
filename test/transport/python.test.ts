import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import {
  claimAll,
  endSessionOf,
  heldOf,
  mustRecord,
  mustSubmit,
  payload,
  worker as someWorker,
  step,
} from '../../contract/execution/worker.ts';
import { parsePipelineName, parseProject } from '../../src/execution/names.ts';
import { Holdfast, pipeline, remoteStep } from '../../src/index.ts';
import { openServer } from '../../src/server/serve.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { openWorker } from '../../src/worker/open-worker.ts';
import { createKey } from './backend.ts';

const PIPELINE = join(import.meta.dirname, '../../examples/python-worker/pipeline.py');
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

/** Its next output, or its exit if there was none. */
async function printedBy(child: ChildProcess): Promise<object> {
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const [line] = (await Promise.race([once(lines, 'line'), once(child, 'exit')])) as [string];
  return JSON.parse(line);
}

test('M-12: a worker in Python hosts a remote step over REST, and its failures are those of a step', async () => {
  const store = openMemoryStore();
  const key = await createKey(store, 'default');
  const server = await openServer({ store, port: 0, maintenance: false });
  const child = spawn('python3', [WORKER], {
    env: { ...process.env, HOLDFAST_URL: server.url, HOLDFAST_KEY: key },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  assert.equal(((await printedBy(child)) as { hosting?: string }).hosting, 'score');
  const workers = await store.executions.workers({ project: parseProject('default'), limit: 9 });
  assert.deepEqual(workers[0]?.pipelines, ['score']);
  const worker = await openWorker({ url: server.url, key, pipelines: [review], pollMs: 50 });
  const holdfast = new Holdfast({ store });
  const good = await holdfast.submit(review, { text: 'Aloha' });
  assert.equal(await good.result(), 'singable');
  const bad = await holdfast.submit(review, { text: 7 });
  const failed = await bad.result().catch((error: unknown) => error);
  assert.match(String(failed), /text must be a string/);
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [0, null]);
  await worker.stop();
  await holdfast.close();
  await server.close();
  await store.close();
});

test('a worker in Python without a coordinator prints one line, and starts when there is one', async () => {
  const store = openMemoryStore();
  const key = await createKey(store, 'default');
  const found = await openServer({ store, port: 0, maintenance: false });
  const { port } = new URL(found.url);
  await found.close();
  const child = spawn('python3', [WORKER], {
    env: { ...process.env, HOLDFAST_URL: found.url, HOLDFAST_KEY: key },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let problems = '';
  const printed = new Promise<void>((resolve) => {
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      problems += text;
      resolve();
    });
  });
  await printed;
  const server = await openServer({ store, port: Number(port), maintenance: false });
  assert.equal(((await printedBy(child)) as { hosting?: string }).hosting, 'score');
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [0, null]);
  assert.match(problems, /^No coordinator responds at http:\S+ \(.*\)\. Trying again\. .*\n$/);
  await server.close();
  await store.close();
});

test('M-12: a pipeline in Python records its steps, retries one, and continues after another worker stopped', async () => {
  const store = openMemoryStore();
  const key = await createKey(store, 'default');
  const server = await openServer({ store, port: 0, maintenance: false });
  const pipeline = parsePipelineName('fulfil');
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-python-'));
  const order = (amount: number) => ({ item: 'tea', amount, failOnce: join(folder, 'failed') });
  const ann = await someWorker(store);
  const half = await mustSubmit(store, { pipeline, input: payload({ v: { amount: 5 } }) });
  const [claimed] = await claimAll(store, ann, { pipelines: [pipeline] });
  assert.ok(claimed !== undefined);
  const reserved = { key: 'step:reserve#1', out: { v: { reservation: 'theirs' } } };
  await mustRecord(store, heldOf(claimed, ann), step('reserve', reserved));
  await endSessionOf(store, ann);
  const child = spawn('python3', [PIPELINE], {
    env: {
      ...process.env,
      PYTHONDONTWRITEBYTECODE: '1',
      HOLDFAST_URL: server.url,
      HOLDFAST_KEY: key,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const holdfast = new Holdfast({ store });
  const resultOf = (id: string) => holdfast.result(id);
  assert.deepEqual(await resultOf(half), { reservation: 'theirs', receipt: 'paid 5' });
  const whole = await mustSubmit(store, { pipeline, input: payload({ v: order(3) }) });
  const reservation = `${whole}/0/step:reserve#1`;
  assert.deepEqual(await resultOf(whole), { reservation, receipt: 'paid 3' });
  const kinds = (await holdfast.history(whole)).map((event) => event.kind);
  const steps = ['step-completed', 'step-failed', 'step-completed'];
  assert.deepEqual(kinds, ['submitted', 'claimed', ...steps, 'completed']);
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [0, null]);
  await holdfast.close();
  await server.close();
  await store.close();
  await rm(folder, { recursive: true });
});
