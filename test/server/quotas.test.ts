// One project uses its whole quota, and another is not affected.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { digestOf } from '../../src/support/digest.ts';
import { TestCoordinator } from './coordinator.ts';
import { RawWorker } from './raw-worker.ts';

const OVER = [429, 'over-quota'];

async function stand(quotas: object, limits: object = {}): Promise<TestCoordinator> {
  return TestCoordinator.onMemory({ quotas, limits, maintenance: false });
}

function schedule(): object {
  return { every: 3_600_000, pipeline: 'x', input: 1 };
}

test("P-14, P-17: a project's executions beyond its quota are refused, from submits, children and re-drives", async () => {
  await using coordinator = await stand({ executions: 3 });
  const [a, b] = [await RawWorker.open(coordinator, 'a'), await RawWorker.open(coordinator, 'b')];
  const owner = await a.running('x');
  const submit = { pipeline: 'x', input: 1 };
  assert.equal((await a.call('POST', '/v1/executions', submit)).status, 202);
  const two = { children: [a.submission(), a.submission()] };
  const write = await a.write(owner, two);
  assert.equal(write.json.results[0].code, 'over-quota');
  assert.equal((await a.call('POST', '/v1/executions', submit)).status, 202);
  const { status, json } = await a.call('POST', '/v1/executions', submit);
  assert.deepEqual([status, json.code], OVER);
  assert.match(
    json.detail,
    /Project "a" may have at most 3 open executions.* Nothing was written\./,
  );
  // An operator cancels many by a job, which is an execution.
  const job = { filter: { pipeline: 'x' }, reason: 'too many' };
  assert.equal((await a.call('POST', '/v1/jobs/cancel', job)).status, 202);
  assert.equal((await b.call('POST', '/v1/executions', submit)).status, 202);
});

test('P-14: at a full quota repeated requests get their first answers', async () => {
  await using coordinator = await stand({ executions: 2, sessions: 1, bytes: 3 });
  const a = await RawWorker.open(coordinator, 'a');
  const owner = await a.running('x');
  const keyed = { pipeline: 'x', input: 1, key: 'order-17' };
  const submit = (body: object) => a.call('POST', '/v1/executions', body);
  const first = await submit(keyed);
  assert.deepEqual([first.status, first.json.existing], [202, false]);
  const again = await submit(keyed);
  assert.deepEqual([again.json.id, again.json.existing], [first.json.id, true]);
  assert.equal((await submit({ ...keyed, input: 2 })).json.code, 'key-conflict');
  assert.equal((await submit({ ...keyed, key: 'order-18' })).json.code, 'over-quota');
  assert.equal(
    (await a.write(owner, { children: [a.submission()] })).json.results[0].code,
    'over-quota',
  );

  const session = { id: a.session, owner: 'a', ttlMs: 60_000, graceMs: 1_000 };
  assert.equal((await a.call('POST', '/v1/work/sessions', session)).status, 200);

  const bytes = Buffer.from('abc');
  for (let count = 0; count < 2; count += 1) {
    assert.equal((await a.putValue(digestOf(bytes), bytes)).status, 204);
  }
});

test('P-14: at a full quota a write with an attachment reads only the stored ones of its names', async () => {
  const plain = openMemoryStore();
  let found = 0;
  const counted =
    <Query extends readonly unknown[]>(read: (...query: Query) => Promise<readonly unknown[]>) =>
    async (...query: Query) => {
      const rows = await read(...query);
      found += rows.length;
      return rows as never;
    };
  const { attachments, namedAttachments } = plain.executions;
  const reads = {
    attachments: counted(attachments),
    namedAttachments: counted(namedAttachments),
  };
  const store = { ...plain, executions: { ...plain.executions, ...reads } };
  const options = { store, quotas: { bytes: 3 }, maintenance: false };
  await using coordinator = await TestCoordinator.open(options);
  const a = await RawWorker.open(coordinator, 'a');
  const owner = await a.running('x');
  const file = (name: string, text: string) => ({
    ...{ name, type: 'text/plain', bytes: Buffer.from(text).toString('base64') },
  });
  const empty = Array.from({ length: 99 }, (_, nth) => file(`empty ${nth}`, ''));
  const codes: unknown[] = [];
  for (const files of [[...empty, file('a', 'abc')], [file('a', 'abc')], [file('b', 'b')]]) {
    const events = [{ kind: 'attached', body: '{"key":"attach:a#1"}' }];
    const { json } = await a.write(owner, { events, attachments: files });
    codes.push(json.results[0].code ?? json.results[0].kind);
  }
  assert.deepEqual([codes, found], [['recorded', 'recorded', 'over-quota'], 1]);
});

test('P-14: at a full quota a write with existing children and attachments can be repeated', async () => {
  await using coordinator = await stand({ executions: 2, bytes: 3 });
  const a = await RawWorker.open(coordinator, 'a');
  const owner = await a.running('x');
  const bytes = Buffer.from('abc').toString('base64');
  const what = {
    events: [{ kind: 'step-completed', name: 's', body: '{"key":"step:s#1"}' }],
    children: [a.submission({ parent: { id: owner.id, call: 'child:c#1' } })],
    attachments: [{ name: 'a', type: 'text/plain', bytes }],
  };
  for (let count = 0; count < 2; count += 1) {
    const { json } = await a.write(owner, what);
    assert.equal(json.results?.[0].kind, 'recorded', JSON.stringify(json));
  }
});

test("P-14: a project's schedules, sessions, keys and bytes beyond its quota are refused", async () => {
  await using coordinator = await stand({ schedules: 1, sessions: 1, keys: 2, bytes: 5 });
  const [a, b] = [await RawWorker.open(coordinator, 'a'), await RawWorker.open(coordinator, 'b')];
  const put = (of: RawWorker, id: string, body = schedule()) =>
    of.call('PUT', `/v1/schedules/${id}`, body);
  assert.equal((await put(a, 'one')).status, 200);
  const second = await put(a, 'two');
  assert.deepEqual([second.status, second.json.code], OVER);
  assert.equal((await put(a, 'one', { ...schedule(), every: 7_200_000 })).status, 200);
  assert.equal((await put(b, 'one')).status, 200);

  await assert.rejects(RawWorker.open(coordinator, 'a'));

  const admin = await coordinator.client(['admin']);
  const key = (project: string | null) =>
    admin.keys.create({ name: 'x', roles: ['submit'], project });
  await assert.rejects(key('a'), { status: 429, code: 'over-quota' });
  await key('b');
  await key(null);

  const blob = async (of: RawWorker, text: string): Promise<number> => {
    const bytes = Buffer.from(text);
    return (await of.putValue(digestOf(bytes), bytes)).status;
  };
  assert.equal(await blob(a, 'abc'), 204);
  assert.equal(await blob(a, 'def'), 429);
  assert.equal(await blob(b, 'abc'), 204);
});

test('P-14: requests of a project count together, whatever its keys', async () => {
  await using coordinator = await stand({}, { projectRequestsPerMinute: 4 });
  const clients = [
    await coordinator.client(['operate'], 'a'),
    await coordinator.client(['operate'], 'a'),
  ];
  for (const each of [...clients, ...clients]) await each.executions.list();
  for (const each of clients) {
    await assert.rejects(each.executions.list(), { status: 429, code: 'over-rate' });
  }
  await (await coordinator.client(['operate'], 'b')).executions.list();
  const operator = await coordinator.client(['operate']);
  for (let count = 0; count < 6; count += 1) await operator.executions.list();
});
