import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { HoldfastClient } from '../../src/client/client.ts';
import { openServer } from '../../src/server/serve.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { openWorker } from '../../src/worker/open-worker.ts';
import { conformPipelines } from '../conform/pipelines.ts';
import { holdfast } from './spawned.ts';

const WORKER = join(import.meta.dirname, 'children/conform-worker.ts');

test('conform starts a worker, prints each case with its rule, and stops the worker', async () => {
  const words = ['--case', 'echo,replay,drain,messages', '--', process.execPath, WORKER];
  const { code, out } = await holdfast(['conform', ...words]);
  assert.equal(code, 0, out);
  assert.match(out, /^ok +replay +M-12 /m);
  assert.match(out, /5 of 5 cases pass\./);
});

test('conform --url forwards the messages of the worker to a coordinator that runs already', async () => {
  const store = openMemoryStore();
  await using server = await openServer({ store, port: 0, auth: 'off', console: false });
  const words = ['--case', 'replay,replaced', '--', process.execPath, WORKER];
  const { code, out } = await holdfast(['conform', '--url', server.url, ...words]);
  assert.equal(code, 0, out);
  const { items } = await new HoldfastClient({ url: server.url }).executions.list();
  const kept = items.map(({ pipeline, status }) => `${pipeline} ${status}`).sort();
  assert.deepEqual(kept, ['conform-slow completed', 'conform-steps completed']);
});

test('conform names another worker that takes its executions, without a stack', async () => {
  const store = openMemoryStore();
  await using server = await openServer({ store, port: 0, auth: 'off', console: false });
  const other = await openWorker({
    url: server.url,
    pipelines: conformPipelines({ url: server.url }),
  });
  const words = ['--case', 'replay', '--', process.execPath, WORKER];
  const { code, out, problems } = await holdfast(['conform', '--url', server.url, ...words]);
  await other.stop();
  assert.equal(code, 1, problems);
  assert.match(out, /could not claim the execution .*Stop other workers of this pipeline\./);
  assert.doesNotMatch(problems, /^ +at /m);
});

test('conform without a worker fails with what it waited for, and prints the address', async () => {
  const { code, out, problems } = await holdfast(['conform', '--wait', '200ms']);
  assert.equal(code, 1);
  assert.match(problems, /Start your worker with HOLDFAST_URL=http:\S+ HOLDFAST_KEY=hf_/);
  assert.match(out, /the worker claimed nothing\. It sent: nothing\./);
  assert.match(out, /see: +docs\/reference\/worker-protocol\.md#overview/);
});

test('conform --json prints an object for each case, and an unknown case is refused', async () => {
  const { code, out } = await holdfast(['conform', '--wait', '200ms', '--json']);
  assert.equal(code, 1);
  const { name, ok, upholds } = JSON.parse(out);
  assert.deepEqual([name, ok, upholds], ['start', false, 'M-4, M-5']);
  const wrong = await holdfast(['conform', '--case', 'repaly']);
  assert.equal(wrong.code, 2);
  assert.match(wrong.problems, /There is no case "repaly"\. Did you mean "replay"\?/);
});
