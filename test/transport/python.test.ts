import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
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
import { HoldfastClient } from '../../src/client/client.ts';
import { parsePipelineName } from '../../src/execution/names.ts';
import { Holdfast, pipeline, remoteStep } from '../../src/index.ts';
import { openServer } from '../../src/server/serve.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { openWorker } from '../../src/worker/open-worker.ts';
import { findPython, pythonEnvironment } from '../services/python.ts';
import { runCommand } from '../services/run-command.ts';
import { createKey } from './backend.ts';

const EXAMPLE = join(import.meta.dirname, '../../examples/python-worker');

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

/** Runs the worker of the example beside a coordinator. */
async function beside(
  play: (parts: {
    readonly store: ReturnType<typeof openMemoryStore>;
    readonly holdfast: Holdfast;
    readonly at: { readonly url: string; readonly key: string };
  }) => Promise<void>,
): Promise<void> {
  const store = openMemoryStore();
  const key = await createKey(store, 'default', ['submit', 'work', 'operate']);
  const server = await openServer({ store, port: 0, maintenance: false });
  const holdfast = new Holdfast({ store });
  const env = pythonEnvironment({ HOLDFAST_URL: server.url, HOLDFAST_KEY: key });
  const child = spawn(await findPython(), [join(EXAMPLE, 'worker.py')], {
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  try {
    await play({ store, holdfast, at: { url: server.url, key } });
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'exit'), [0, null]);
  } finally {
    child.kill('SIGKILL');
    await holdfast.close();
    await server.close();
    await store.close();
  }
}

test('M-12: a worker in Python hosts a remote step over REST, and its failures are those of a step', () =>
  beside(async ({ holdfast, at }) => {
    const worker = await openWorker({ ...at, pipelines: [review], pollMs: 50 });
    const good = await holdfast.submit(review, { text: 'Aloha' });
    assert.equal(await good.result(), 'singable');
    const bad = await holdfast.submit(review, { text: 7 });
    const failed = await bad.result().catch((error: unknown) => error);
    assert.match(String(failed), /text must be a string/);
    await worker.stop();
  }));

test('M-12: a pipeline in Python continues after another worker stopped', () =>
  beside(async ({ store, holdfast }) => {
    const fulfil = parsePipelineName('fulfil');
    const ann = await someWorker(store);
    const half = await mustSubmit(store, {
      pipeline: fulfil,
      input: payload({ v: { amount: 5 } }),
    });
    const [claimed] = await claimAll(store, ann, { pipelines: [fulfil] });
    // The worker in Python may claim it first; then it completes with its own reservation.
    if (claimed !== undefined) {
      const reserved = { key: 'step:reserve#1', out: { v: 'theirs' } };
      await mustRecord(store, heldOf(claimed, ann), step('reserve', reserved));
    }
    await endSessionOf(store, ann);
    const result = (await holdfast.result(half)) as { readonly reservation: string };
    const own = `reservation ${half}/0/step:reserve#1`;
    assert.equal(result.reservation, claimed === undefined ? own : 'theirs');
  }));

test('a worker in Python warns once without a coordinator, and stops when it is asked to', async () => {
  const options = { auth: 'off', console: false } as const;
  const found = await openServer({ store: openMemoryStore(), port: 0, ...options });
  const { url } = found;
  await found.close();
  const child = spawn(await findPython(), [join(EXAMPLE, 'worker.py')], {
    env: pythonEnvironment({ HOLDFAST_URL: url }),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  try {
    const lines = createInterface({ input: child.stderr });
    const printed: string[] = [];
    lines.on('line', (line) => printed.push(line));
    await once(lines, 'line');
    const port = Number(new URL(url).port);
    await using server = await openServer({ store: openMemoryStore(), port, ...options });
    const client = new HoldfastClient({ url: server.url });
    const { id } = await client.executions.submit({ pipeline: 'score', input: { text: 'tea' } });
    assert.equal((await client.executions.result(id)).status, 'completed');
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'exit'), [0, null]);
    assert.match(
      printed[0] ?? '',
      /The coordinator at http:\S+ did not respond .* Set HOLDFAST_URL/,
    );
    assert.equal(printed.filter((line) => line.includes('Set HOLDFAST_URL')).length, 1);
  } finally {
    child.kill('SIGKILL');
  }
});

test('the example in Python submits an order, retries a step and answers its question', async () => {
  const store = openMemoryStore();
  await using server = await openServer({ store, port: 0, auth: 'off', console: false });
  const env = pythonEnvironment({ HOLDFAST_URL: server.url });
  const printed = await runCommand(await findPython(), [join(EXAMPLE, 'main.py')], { env });
  assert.match(
    printed,
    /^submitted \S+\nasked await:approval#1: .*'tent'.*\nresult .*paid 120 in attempt 2/,
  );
});
