// Keys of one project that attack each other: a worker's key can do nothing of an operator or of
// another worker.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PipelineName } from '../../src/execution/names.ts';
import { Holdfast, interactionId } from '../../src/index.ts';
import type { Owner, SessionId } from '../../src/lease/names.ts';
import { pushSettingsOf } from '../../src/protocol/push/push-options.ts';
import type { Finish } from '../../src/store/contract/execution-store.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { systemRandom } from '../../src/support/random.ts';
import { TestCoordinator } from './coordinator.ts';
import { RawWorker } from './raw-worker.ts';

const SHARES = [
  { lane: 'interactive', limit: 5 },
  { lane: 'batch', limit: 5 },
];

test("M-19: a worker's key gets no operator job, and cannot announce that it runs one", async () => {
  const plain = openMemoryStore();
  const asked: (readonly string[])[] = [];
  let worker: RawWorker | undefined;
  const { claim, announce } = plain.executions;
  const executions: typeof plain.executions = {
    ...plain.executions,
    claim: (request) => {
      if (request.session === worker?.session) asked.push(request.pipelines);
      return claim(request);
    },
    announce: (request) => {
      if (request.session === worker?.session) asked.push(request.pipelines);
      return announce(request);
    },
  };
  await using coordinator = await TestCoordinator.open({ store: { ...plain, executions } });
  worker = await RawWorker.open(coordinator, 'ours');
  const { session } = worker;
  const fine = ['x', 'holdfast.answer/x', 'holdfast.replay/v1/x'];
  const own = [
    'holdfast.job',
    'holdfast.move',
    'holdfast.other',
    'holdfast.answer',
    'holdfast.replay',
  ];
  const pipelines = [...own, ...fine];
  const about = { session, pipelines, state: 'ready', everyMs: 1_000, room: 1 };
  await worker.call('POST', '/v1/work/claims', { session, pipelines, shares: SHARES });
  await worker.call('POST', '/v1/work/announcements', about);
  assert.deepEqual(asked, [fine, fine]);
  const none = { session, pipelines: ['holdfast.job'], shares: SHARES };
  const { status, json } = await worker.call('POST', '/v1/work/claims', none);
  assert.deepEqual([status, json.claims], [200, []]);
});

test("a submit-only key cannot stop or signal an operator's job", async () => {
  // No worker runs it here: it stays until an operator stops it.
  await using coordinator = await TestCoordinator.onMemory({ maintenance: false });
  const operator = await coordinator.client(['operate', 'submit'], 'ours');
  const { id } = await operator.jobs.cancel({ filter: { pipeline: 'x' }, reason: 'all of them' });
  const key = await coordinator.key(['submit'], 'ours');
  const outcomeOf = async (path: string, body: object): Promise<readonly unknown[]> => {
    const response = await fetch(`${coordinator.url}/v1/executions/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const { code } = (await response.json()) as { readonly code?: string };
    return [response.status, code];
  };
  assert.deepEqual(await outcomeOf(`${id}/cancel`, {}), [403, 'role-missing']);
  assert.deepEqual(await outcomeOf(`${id}/signals`, { name: 'x' }), [403, 'role-missing']);
  assert.equal((await operator.executions.read(id)).status, 'queued');
  const own = await operator.executions.submit({ pipeline: 'nobody' });
  assert.deepEqual(await outcomeOf(`${own.id}/cancel`, {}), [200, undefined]);
});

test('a job whose result is malformed hides no other job from the list', async () => {
  const store = openMemoryStore();
  const holdfast = new Holdfast({ store });
  const input = { act: 'cancel', filter: {}, dryRun: false, by: 'ann', reason: '' };
  const session = systemRandom.uuid() as SessionId;
  const about = { owner: 'evil' as Owner, ttlMs: 60_000, graceMs: 1_000, metadata: {} };
  await store.sessions.open({ id: session, ...about });
  // As an older build let workers do.
  for (const body of ['{"out":{"x":1}}', '{"out":{"v":7}}', '{"out":{"v":{"seen":"all"}}}']) {
    await holdfast.submit('holdfast.job', input, { project: 'ours' });
    const pipelines = ['holdfast.job'] as PipelineName[];
    const shares = [{ lane: 'interactive', limit: 1 }] as const;
    const answer = await store.executions.claim({ session, pipelines, shares });
    assert.ok(answer.kind === 'claimed' && answer.claims[0] !== undefined);
    const { execution, fence } = answer.claims[0];
    const end = { status: 'completed', events: [{ kind: 'completed', body }] } as const;
    const owner = { id: execution.id, fence, session, seq: execution.seq + 1 };
    const finished = await store.executions.finish({ ...owner, ...end } as unknown as Finish);
    assert.equal(finished.kind, 'finished');
  }
  await holdfast.close();
  await using coordinator = await TestCoordinator.open({ store });
  const { jobs } = await coordinator.client(['operate'], 'ours');
  const { items } = await jobs.list();
  const nothing = { seen: 0, outcomes: {} };
  assert.deepEqual(
    items.map(({ seen, outcomes }) => ({ seen, outcomes })),
    [nothing, nothing, nothing],
  );
});

test("an endpoint gets none of the engine's own executions by naming them", () => {
  const endpoint = { url: 'https://shop.example/', pipelines: ['order', 'holdfast.job'] };
  const signing = { keys: { k1: 'x'.repeat(32) }, current: 'k1' };
  assert.throws(
    () => pushSettingsOf({ endpoints: [endpoint], signing, allow: { hosts: ['shop.example'] } }),
    /"holdfast\.job" is reserved for the engine/,
  );
});

/**
 * A worker with another key of the project. It knows the id of an execution that another worker
 * runs.
 */
async function peerOf(coordinator: TestCoordinator, project: string): Promise<RawWorker> {
  return new RawWorker(coordinator.url, await coordinator.key(['work'], project), project);
}

test("a worker's key can do nothing under the session of another key, whatever it has read", async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const honest = await RawWorker.open(coordinator, 'ours');
  const own = await honest.running('pay');
  const evil = await peerOf(coordinator, 'ours');
  const { session } = honest;
  const shares = [{ lane: 'interactive', limit: 1 }];
  const about = { session, pipelines: ['pay'], state: 'ready', everyMs: 1_000, room: 1 };
  const again = { id: session, owner: 'ours', ttlMs: 60_000, graceMs: 1_000 };
  const finish = { ...own, verb: 'finish', status: 'completed', events: [{ kind: 'completed' }] };
  for (const [method, path, body] of [
    ['POST', '/v1/work/writes', { writes: [finish] }],
    ['GET', `/v1/work/sessions/${session}/claims`, undefined],
    ['POST', `/v1/work/sessions/${session}/heartbeat`, { owner: 'ours' }],
    ['POST', `/v1/work/sessions/${session}/end`, { owner: 'ours', exit: 'failed' }],
    ['POST', '/v1/work/claims', { session, pipelines: ['pay'], shares }],
    ['POST', '/v1/work/announcements', about],
    ['POST', '/v1/work/sessions', again],
  ] as const) {
    const { status, json } = await evil.call(method, path, body);
    assert.deepEqual([status, json.code], [404, 'session-unknown'], path);
  }
  const { json } = await honest.call('POST', '/v1/work/writes', { writes: [finish] });
  assert.equal(json.results[0].kind, 'finished');
});

test('M-20: a session continues with the key that its own was rotated to, and with no other of that name', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const admin = await coordinator.client(['admin'], 'ours');
  const first = await admin.keys.create({ name: 'w', roles: ['work'], project: 'ours' });
  const worker = new RawWorker(coordinator.url, first.key, 'ours');
  const session = { id: worker.session, owner: 'w', ttlMs: 60_000, graceMs: 1_000 };
  assert.equal((await worker.call('POST', '/v1/work/sessions', session)).status, 200);
  const beat = async (key: string): Promise<number> => {
    const path = `/v1/work/sessions/${worker.session}/heartbeat`;
    return (await new RawWorker(coordinator.url, key, 'ours').call('POST', path, { owner: 'w' }))
      .status;
  };
  const namesake = await admin.keys.create({ name: 'w', roles: ['work'], project: 'ours' });
  assert.equal(await beat(namesake.key), 404);
  const next = await admin.keys.rotate(first.id);
  const last = await admin.keys.rotate(next.id);
  // The last key first: the key in between does not know that it descends from the first.
  assert.deepEqual(
    await Promise.all([last.key, next.key, first.key, namesake.key].map(beat)),
    [200, 200, 200, 404],
  );
});

test('M-20: the session of a key for all projects continues with the rotated key too', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  await coordinator.key(['work'], 'default');
  const admin = await coordinator.client(['admin']);
  const first = await admin.keys.create({ name: 'w', roles: ['work'], project: null });
  const worker = new RawWorker(coordinator.url, first.key, 'default');
  const session = { id: worker.session, owner: 'w', ttlMs: 60_000, graceMs: 1_000 };
  assert.equal((await worker.call('POST', '/v1/work/sessions', session)).status, 200);
  const next = await admin.keys.rotate(first.id);
  const path = `/v1/work/sessions/${worker.session}/claims`;
  const successor = new RawWorker(coordinator.url, next.key, 'default');
  assert.equal((await successor.call('GET', path)).status, 200);
  const peer = await peerOf(coordinator, 'default');
  assert.equal((await peer.call('GET', path)).status, 404);
});

test('a session from an older build, which recorded no key, still belongs to its project', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const worker = await peerOf(coordinator, 'ours');
  const stranger = await peerOf(coordinator, 'theirs');
  const metadata = { 'holdfast.project': 'ours', 'holdfast.worker': 'remote' };
  const about = { owner: 'w' as Owner, ttlMs: 60_000, graceMs: 1_000, metadata };
  await coordinator.store.sessions.open({ id: worker.session as SessionId, ...about });
  const path = `/v1/work/sessions/${worker.session}/heartbeat`;
  assert.equal((await worker.call('POST', path, { owner: 'w' })).status, 200);
  assert.equal((await stranger.call('POST', path, { owner: 'w' })).status, 404);
});

test('a worker cannot forge the submitter of an execution', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const worker = await RawWorker.open(coordinator, 'ours');
  const own = await worker.running('x');
  const { json: read } = await worker.call('GET', `/v1/executions/${own.id}`);
  const origins = [{ submittedBy: 'root' }, { scheduled: { id: 'nightly', at: 1 } }];
  const asking = { call: 'await:a#1', name: 'a', needed: 1, signed: false, checked: false };
  const items = [{ id: interactionId({ execution: own.id, name: 'a' }) }];
  const end = { verb: 'finish', status: 'completed', events: [{ kind: 'completed' }] };
  for (const each of origins) {
    const start = worker.submission(each);
    const reminders = [{ afterMs: 1, start }];
    for (const what of [{ children: [start] }, { awaits: [{ ...asking, items, reminders }] }]) {
      const { status, json } = await worker.write(own, what);
      assert.deepEqual([status, json.code], [403, 'project-denied']);
    }
    const { json } = await worker.write(own, { ...end, successor: start });
    assert.deepEqual([json.results[0].kind, json.results[0].code], ['fault', 'project-denied']);
  }
  const { submittedBy } = read;
  assert.equal(typeof submittedBy, 'string');
  const successor = worker.submission({ submittedBy });
  const { json } = await worker.write(own, { ...end, successor });
  assert.equal(json.results[0].kind, 'finished', 'by whom its predecessor was');
});

test('P-12: a key ends no later than the key that created or rotated it', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const { url, store } = coordinator;
  const post = async (
    key: string,
    path: string,
    body: object,
  ): Promise<{ readonly id: string; readonly key: string }> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    const response = await fetch(`${url}${path}`, init);
    assert.equal(response.status, 201, await response.clone().text());
    return (await response.json()) as { id: string; key: string };
  };
  const endOf = async (id: string): Promise<number> =>
    (await store.access.key(id))?.expiresAt ?? Infinity;
  const operator = await coordinator.key(['admin']);
  const wanted = { name: 'x', roles: ['admin'], project: 'default' };
  const short = await post(operator, '/v1/keys', { ...wanted, expiresInMs: 60_000 });
  const long = await post(operator, '/v1/keys', wanted);
  assert.equal(await endOf(long.id), Infinity);
  const end = await endOf(short.id);
  const made = [
    await post(short.key, '/v1/keys', wanted),
    await post(short.key, '/v1/keys', { ...wanted, expiresInMs: 3_600_000 }),
    await post(short.key, `/v1/keys/${long.id}/rotate`, {}),
    await post(short.key, `/v1/keys/${short.id}/rotate`, {}),
  ];
  for (const { id } of made) assert.equal(await endOf(id), end);
});
