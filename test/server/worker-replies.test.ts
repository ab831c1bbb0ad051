// A handwritten worker that follows the protocol page. The fetch checks each response against its
// schema.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LEASE_MESSAGES } from '../../src/features/leases/messages.ts';
import { interactionId } from '../../src/index.ts';
import { WORK_KINDS, workMessage } from '../../src/protocol/messages/work-messages.ts';
import { TestCoordinator } from './coordinator.ts';
import { type Raw, RawWorker } from './raw-worker.ts';

test('RE-21: the input schemas that a worker announces are read by pipeline; long ones are refused', async () => {
  await using coordinator = await TestCoordinator.onMemory({ maintenance: false });
  const worker = await RawWorker.open(coordinator, 'ours');
  const { session } = worker;
  const about = { session, pipelines: ['order'], state: 'starting', everyMs: 1_000, room: 1 };
  const announce = (inputs: object): Promise<Raw> =>
    worker.call('POST', '/v1/work/announcements', { ...about, inputs });
  const read = async (): Promise<unknown> =>
    (await worker.call('GET', '/v1/pipelines/order/input')).json;
  assert.deepEqual(await read(), {});
  const order = { type: 'object', properties: { item: { type: 'string' } } };
  assert.equal((await announce({ order })).json.kind, 'announced');
  assert.deepEqual(await read(), { input: order });
  const long = await announce({ order: { description: 'x'.repeat(70_000) } });
  assert.deepEqual([long.status, long.json.code], [400, 'invalid-input']);
  assert.deepEqual(await read(), { input: order });
});

test('M-12: the protocol page is enough to run a pipeline, and every answer has its schema', async () => {
  await using coordinator = await TestCoordinator.onMemory({ maintenance: false });
  const key = await coordinator.key(['work', 'submit', 'operate'], 'default');
  const worker = new RawWorker(coordinator.url, key, 'default');
  const asked = new Set<(typeof WORK_KINDS)[number]>();
  const call = async (kind: (typeof WORK_KINDS)[number], body: object, path = ''): Promise<Raw> => {
    asked.add(kind);
    const { method, path: pattern } = workMessage(kind);
    const known = { id: worker.session, ...body } as Readonly<Record<string, string>>;
    const at = pattern.replaceAll(/:(\w+)/g, (_, name: string) => known[name] ?? '');
    const named = new Set([...pattern.matchAll(/:(\w+)/g)].map(([, name]) => name));
    const rest = Object.fromEntries(Object.entries(body).filter(([name]) => !named.has(name)));
    return worker.call(method, `${at}${path}`, method === 'GET' ? undefined : rest);
  };
  const { session } = worker;
  const owner = 'by hand';
  assert.equal((await call('greet', {})).json.project, 'default');
  const opening = { id: session, owner, ttlMs: 60_000, graceMs: 1_000, pipelines: ['order'] };
  assert.equal((await call('openSession', opening)).json.kind, 'opened');
  assert.equal((await call('openSession', { ...opening, owner: 'another' })).json.kind, 'refused');
  const about = { session, pipelines: ['order'], state: 'ready', everyMs: 1_000, room: 1 };
  assert.equal((await call('announceWorker', about)).json.kind, 'announced');
  const submitted = await worker.call('POST', '/v1/executions', { pipeline: 'order', input: 7 });
  const { id } = submitted.json;
  const shares = [{ lane: 'interactive', limit: 1 }];
  const claimed = await call('claimExecutions', { session, pipelines: ['order'], shares });
  const [{ execution, fence }] = claimed.json.claims;
  assert.deepEqual([execution.id, JSON.parse(execution.input)], [id, { v: 7 }]);
  assert.equal((await call('listClaims', {})).json.items[0].fence, fence);
  let seq = execution.seq + 1;
  const write = async (
    verb: string,
    events: readonly object[],
    more: object = {},
  ): Promise<Raw> => {
    const writes = [{ verb, id, fence, session, seq, events, ...more }];
    const answered = await call('writeAsOwner', { writes });
    seq += events.length;
    return answered.json.results[0];
  };
  const out = JSON.stringify({ key: 'step:charge#1', out: { v: 8 }, attempt: 1 });
  const step = { kind: 'step-completed', name: 'charge', body: out };
  const item = interactionId({ execution: id, name: 'ok', item: 0 });
  const asking = { call: 'await:ok#1', name: 'ok', needed: 1, signed: false, checked: false };
  const awaits = [{ ...asking, reminders: [], items: [{ id: item, request: '{"v":1}' }] }];
  assert.equal(((await write('record', [step], { awaits })) as object as Kind).kind, 'recorded');
  await worker.call('POST', `/v1/executions/${id}/signals`, { name: 'hurry' });
  const beat = await call('heartbeat', { owner });
  assert.equal(beat.json.kind, 'alive');
  assert.equal((await call('readInbox', { id })).json.items[0].kind, 'signal');
  const history = (await call('readStoredHistory', { id })).json.items;
  assert.deepEqual(
    history.map(({ kind }: Kind) => kind),
    ['submitted', 'claimed', 'step-completed'],
  );
  assert.equal((await call('readStoredAwait', { id: item })).json.interaction.id, item);
  assert.equal((await call('expireAwaits', { id })).json.settled, 0);
  const stranger = { child: session, id, fence, session, message: { kind: 'cancel' } };
  assert.equal((await call('messageChild', stranger)).json.kind, 'refused');
  assert.equal((await call('readStoredExecution', { id })).json.fence, fence);
  assert.equal((await call('waitForWakeup', {}, '?waitMs=1')).status, 200);
  const end = { kind: 'completed', body: '{"out":{"v":8}}' };
  const leaving = { status: 'completed', inboxSeen: 1, unread: [1] };
  assert.equal(((await write('finish', [end], leaving)) as object as Kind).kind, 'finished');
  const late = { kind: 'step-completed', name: 'late', body: out };
  assert.equal(((await write('record', [late])) as object as Kind).kind, 'refused');
  assert.equal((await call('endSession', { owner, exit: 'finished' })).json.kind, 'ended');
  const result = await worker.call('GET', `/v1/executions/${id}/result`);
  assert.equal(result.json.output, 8);
  assert.ok([...asked].every((kind) => workMessage(kind).reply !== undefined));
  const bytes = WORK_KINDS.filter((kind) => workMessage(kind).bytes !== undefined);
  const ofWorkers = WORK_KINDS.filter((kind) => !(kind in LEASE_MESSAGES));
  assert.deepEqual([...asked, ...bytes].sort(), [...ofWorkers].sort());
});

interface Kind {
  readonly kind: string;
}
