// Attacks on releases: with keys of another project or role, with handmade contracts, and by lying
// workers.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contractOf } from '../../src/features/releases/contract-api.ts';
import { contractVersion } from '../../src/features/releases/contract-model.ts';
import { pipeline } from '../../src/index.ts';
import type { Owner, SessionId } from '../../src/lease/names.ts';
import { TestCoordinator } from './coordinator.ts';
import { type Raw, RawWorker } from './raw-worker.ts';

const order = pipeline({ name: 'order', run: () => 1 });
const CONTRACT = contractOf(order as never);
const RELEASES = '/v1/pipelines/order/releases';

function build(name: string, contract: object = CONTRACT): object {
  return { name, artifact: 'image', digest: `sha256:${name}`, contract };
}

async function adminOf(coordinator: TestCoordinator, project: string): Promise<RawWorker> {
  const key = await coordinator.key(['admin', 'submit', 'operate'], project);
  return new RawWorker(coordinator.url, key, project);
}

const nested = (depth: number): object => {
  let schema: object = { type: 'string' };
  for (let left = depth; left > 0; left -= 1) schema = { properties: { a: schema } };
  return schema;
};

test('a contract that is too deep or too large, or has invalid schemas, is refused', async () => {
  const faults: unknown[] = [];
  const log = { info: () => undefined, fault: (_: string, error: unknown) => faults.push(error) };
  await using coordinator = await TestCoordinator.open({ log });
  const admin = await adminOf(coordinator, 'ours');
  const wrong: readonly object[] = [
    ...[100, 1_400, 1_500].map((depth) => ({ ...CONTRACT, input: nested(depth) })),
    { ...CONTRACT, input: { title: 'x'.repeat(300_000) } },
    ...[null, 5, 'x', []].map((input) => ({ ...CONTRACT, input })),
    { ...CONTRACT, awaits: [{ name: 'ok' }] },
    { ...CONTRACT, remoteSteps: [{ name: 'charge', input: true, output: 7 }] },
  ];
  for (const contract of wrong) {
    const { status, json } = await admin.call('POST', RELEASES, build('v1', contract));
    assert.deepEqual([status, json.code], [400, 'invalid-input'], JSON.stringify(json));
  }
  const fine = { ...CONTRACT, input: nested(40) };
  assert.equal((await admin.call('POST', RELEASES, build('v1', fine))).status, 200);
  assert.deepEqual(faults, []);
});

test('the stored differences of two contracts are cut to a readable size', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const admin = await adminOf(coordinator, 'ours');
  const many = (schema: object): object =>
    Object.fromEntries(Array.from({ length: 3_000 }, (_, n) => [`p${n}`, schema]));
  const under = (schema: object): object => ({
    ...CONTRACT,
    input: { properties: { ['x'.repeat(50_000)]: { properties: many(schema) } } },
  });
  const activate = { action: 'activate', name: 'v1' };
  for (const [path, body] of [
    [RELEASES, build('v1', under({}))],
    ['/v1/pipelines/order/rollout', activate],
    [RELEASES, build('v2', under({ type: 'string' }))],
  ] as const) {
    const { status, json } = await admin.call('POST', path, body);
    assert.equal(status, 200, JSON.stringify(json));
  }
  const { status, json } = await admin.call('POST', `${RELEASES}/v2/preflight`, { waitMs: 1_000 });
  assert.deepEqual([status, json.breaking, json.changes.length], [200, true, 1_000]);
  assert.ok(JSON.stringify(json).length < 4_000_000, `${JSON.stringify(json).length} characters`);
  const compared = await admin.call('GET', `${RELEASES}/v2/changes`);
  assert.deepEqual([compared.json.breaking, compared.json.changes.length], [true, 1_000]);
  assert.ok(JSON.stringify(compared.json).length < 4_000_000, 'nor is a comparison longer');
  const next = { action: 'activate', name: 'v2' };
  const refused = await admin.call('POST', '/v1/pipelines/order/rollout', next);
  assert.equal(refused.status, 409);
  assert.ok(JSON.stringify(refused.json).length < 400_000, 'nor is why it is not activated');
});

test('a breaking release is not activated on a rollout without an active release', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const admin = await adminOf(coordinator, 'ours');
  const less = { ...CONTRACT, input: { type: 'object', required: ['zz'] } };
  await admin.call('POST', RELEASES, build('v1', { ...CONTRACT, input: { type: 'object' } }));
  await admin.call('POST', RELEASES, build('v2', less));
  const operation = (what: object): Promise<Raw> =>
    admin.call('POST', '/v1/pipelines/order/rollout', what);
  assert.equal((await operation({ action: 'activate', name: 'v1' })).status, 200);
  assert.equal((await operation({ action: 'deactivate' })).status, 200);
  const refused = await operation({ action: 'activate', name: 'v2' });
  assert.deepEqual([refused.status, refused.json.code], [409, 'release-breaks']);
  const { json } = await admin.call('POST', `${RELEASES}/v2/preflight`, { waitMs: 1_000 });
  assert.deepEqual([json.against, json.breaking], ['v1', true], JSON.stringify(json));
  const compared = await admin.call('GET', `${RELEASES}/v2/changes`);
  assert.deepEqual([compared.json.against, compared.json.breaking], ['v1', true]);
});

/** The announcement of a worker with a build of this name. */
function having(name: string): object {
  const contracts = { order: contractVersion(CONTRACT) };
  const release = { name, digest: `sha256:${name}`, contracts };
  return { pipelines: ['order'], release, state: 'ready', everyMs: 60_000, room: 1 };
}

/** The worker of `project` takes the requested replay, and returns this. */
async function replaying(
  coordinator: TestCoordinator,
  project: string,
  output: object,
): Promise<Raw> {
  const admin = await adminOf(coordinator, project);
  await admin.call('POST', RELEASES, build('v1'));
  await admin.call('POST', '/v1/executions', { pipeline: 'order', input: 1 });
  const preflight = admin.call('POST', `${RELEASES}/v1/preflight`, { waitMs: 20_000 });
  const worker = await RawWorker.open(coordinator, project);
  const own = { session: worker.session, ...having('v1') };
  assert.equal((await worker.call('POST', '/v1/work/announcements', own)).status, 200);
  const taken = await worker.claimWhenThere('holdfast.replay/v1/order');
  const body = JSON.stringify({ out: output });
  const ends = { verb: 'finish', status: 'completed', events: [{ kind: 'completed', body }] };
  await worker.write(taken, ends);
  return preflight;
}

test('malformed preflight results of a worker are ignored', async () => {
  const faults: unknown[] = [];
  const log = { info: () => undefined, fault: (_: string, error: unknown) => faults.push(error) };
  const digest = 'sha256:v1';
  const foreign = { execution: '01a1e190-0000-7000-8000-000000000001', why: 'x' };
  for (const v of [
    { digest, broken: 5 },
    { digest },
    { digest, broken: [null, 5, { why: 'x' }, foreign, { ...foreign, why: {} }] },
  ]) {
    await using coordinator = await TestCoordinator.onMemory({ log });
    const { status, json } = await replaying(coordinator, 'ours', { v });
    assert.deepEqual([status, json.broken, json.brokenCount], [200, [], 0], JSON.stringify(v));
  }
  for (const out of [{}, { v: null }, { v: 7 }, { v: { digest: 'sha256:other' } }]) {
    await using coordinator = await TestCoordinator.onMemory({ log });
    const { status, json } = await replaying(coordinator, 'ours', out);
    assert.deepEqual([status, json.code], [409, 'release-differs'], JSON.stringify(out));
  }
  assert.deepEqual(faults, []);
});

test('a worker that has not announced a release cannot answer its preflight, whatever its pipelines’ names', async () => {
  await using coordinator = await TestCoordinator.open();
  const admin = await adminOf(coordinator, 'ours');
  for (const name of ['v1', 'v2']) await admin.call('POST', RELEASES, build(name));
  await admin.call('POST', '/v1/executions', { pipeline: 'order', input: 1 });
  const silent = await RawWorker.open(coordinator, 'ours');
  const other = await RawWorker.open(coordinator, 'ours');
  const announcement = { session: other.session, ...having('v1') };
  assert.equal((await other.call('POST', '/v1/work/announcements', announcement)).status, 200);
  const replay = 'holdfast.replay/v2/order';
  const preflight = admin.call('POST', `${RELEASES}/v2/preflight`, { waitMs: 1_000 });
  let over = false;
  const ended = preflight.finally(() => {
    over = true;
  });
  const shares = [{ lane: 'interactive', limit: 1 }];
  while (!over) {
    for (const worker of [silent, other]) {
      const asked = { session: worker.session, pipelines: [replay], release: 'v2', shares };
      const { json } = await worker.call('POST', '/v1/work/claims', asked);
      assert.deepEqual(json.claims, []);
    }
  }
  const { status, json } = await ended;
  assert.deepEqual([status, json.code], [503, 'no-worker'], JSON.stringify(json));
});

test('a worker can neither pin nor claim pinned executions through its pipelines’ names', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const worker = await RawWorker.open(coordinator, 'ours');
  const own = await worker.running('x');
  const { session } = worker;
  const pinned = 'order\u001fv1';
  const events = [{ kind: 'step-completed', name: 's', body: '{"key":"step:s#1"}' }];
  const about = { session, state: 'ready', everyMs: 1_000, room: 1 };
  for (const { status, json } of [
    await worker.write(own, { events, children: [worker.submission({ pipeline: pinned })] }),
    await worker.call('POST', '/v1/work/claims', { session, pipelines: [pinned], shares: [] }),
    await worker.call('POST', '/v1/work/announcements', { ...about, pipelines: [pinned] }),
  ]) {
    assert.deepEqual([status, json.code], [400, 'invalid-input'], JSON.stringify(json));
  }
});

test('a worker announces the releases of its own project only, and only with its own session', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const theirs = await adminOf(coordinator, 'theirs');
  assert.equal((await theirs.call('POST', RELEASES, build('v1'))).status, 200);
  const activate = { action: 'activate', name: 'v1' };
  assert.equal((await theirs.call('POST', '/v1/pipelines/order/rollout', activate)).status, 200);
  const { json } = await theirs.call('POST', '/v1/executions', { pipeline: 'order', input: 1 });
  const ours = await RawWorker.open(coordinator, 'ours');
  const victim = await RawWorker.open(coordinator, 'theirs');
  const contracts = { order: contractVersion(CONTRACT) };
  const release = { name: 'v1', digest: 'sha256:v1', contracts };
  const about = { pipelines: ['order'], release, state: 'ready', everyMs: 1_000, room: 1 };
  const announce = (session: string): Promise<Raw> =>
    ours.call('POST', '/v1/work/announcements', { session, ...about });
  assert.deepEqual((await announce(ours.session)).json.why, 'release-unknown');
  assert.deepEqual((await announce(victim.session)).status, 404);
  const shares = [{ lane: 'interactive', limit: 9 }];
  const asked = { session: ours.session, pipelines: ['order'], release: 'v1', shares };
  const claimed = await ours.call('POST', '/v1/work/claims', asked);
  assert.deepEqual(claimed.json.claims, []);
  const admin = await adminOf(coordinator, 'ours');
  await admin.call('POST', RELEASES, build('v1'));
  const repinning = await admin.call('POST', `/v1/executions/${json.id}/repin`, { to: 'v1' });
  assert.deepEqual([repinning.status, repinning.json.code], [404, 'execution-unknown']);
});

/** One more than a page of workers holds. */
const CROWD = 1_001;

test('a worker is listed in its project, however many workers others have', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const { sessions, executions } = coordinator.store;
  for (let n = 0; n < CROWD; n += 1) {
    // Sorts before every random id.
    const id = `00000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}` as SessionId;
    const metadata = { 'holdfast.project': 'theirs' };
    await sessions.open({ id, owner: 'w' as Owner, ttlMs: 3_600_000, graceMs: 0, metadata });
    const about = { state: 'ready', everyMs: 60_000, room: 1 } as const;
    await executions.announce({
      ...{ ...about, session: id, pipelines: [order.name], project: 'theirs' as never },
    });
  }
  const worker = await RawWorker.open(coordinator, 'ours');
  const about = { session: worker.session, state: 'ready', everyMs: 60_000, room: 1 };
  await worker.call('POST', '/v1/work/announcements', { ...about, pipelines: ['order'] });
  const submit = { pipeline: 'order', input: 1, ifNoWorker: 'refuse' };
  const { status, json } = await worker.call('POST', '/v1/executions', submit);
  assert.equal(status, 202, JSON.stringify(json));
});
