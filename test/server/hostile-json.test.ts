// Parsing JSON blocks the event loop, and its time grows with the number of names and values. So the coordinator
// counts them first (M-33).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digestOf } from '../../src/support/digest.ts';
import { TestCoordinator } from './coordinator.ts';
import { RawWorker } from './raw-worker.ts';

const LIMIT = 70_000;
const MANY = Array.from({ length: LIMIT }, () => 1);
const LONG = 'x,'.repeat(LIMIT);

async function open(): Promise<TestCoordinator> {
  const limits = { jsonValuesMax: LIMIT };
  return TestCoordinator.open({ maintenance: false, limits });
}

test('M-33: a body with too many names and values is refused, and long text is not', async () => {
  await using coordinator = await open();
  const worker = await RawWorker.open(coordinator, 'a');
  const submit = (input: unknown) =>
    worker.call('POST', '/v1/executions', { pipeline: 'x', input });
  const refused = await submit(MANY);
  assert.equal(refused.status, 413);
  assert.equal(refused.json.code, 'payload-too-large');
  assert.match(refused.json.detail, /70000 names and values \(limits\.jsonValuesMax\)/);
  assert.deepEqual((await worker.call('GET', '/v1/executions')).json.items, []);
  assert.equal((await submit(LONG)).status, 202);
});

test('M-33: a stored value with too many names and values is left out of a history, and a result of it is refused', async () => {
  await using coordinator = await open();
  const worker = await RawWorker.open(coordinator, 'a');
  const owner = await worker.running('x');
  const bytes = Uint8Array.from(Buffer.from(JSON.stringify(MANY)));
  const ref = digestOf(bytes);
  assert.ok([200, 204].includes((await worker.putValue(ref, bytes)).status));
  const out = { ref, size: 1 };
  const body = JSON.stringify({ out });
  const events = [{ kind: 'completed', body }];
  const { json } = await worker.write(owner, { verb: 'finish', status: 'completed', events });
  assert.equal(json.results[0].kind, 'finished');
  const path = `/v1/executions/${owner.id}`;
  const history = await worker.call('GET', `${path}/history`);
  const { body: shown } = history.json.items.at(-1);
  assert.equal(shown.sealed, true);
  assert.equal(shown.out, undefined);
  const result = await worker.call('GET', `${path}/result`);
  assert.equal(result.status, 413);
  assert.equal(result.json.code, 'payload-too-large');
});
