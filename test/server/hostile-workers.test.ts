// Workers that mean harm: a key of one project reaches nothing of another, whatever its writes name.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseProject } from '../../src/execution/names.ts';
import { interactionId } from '../../src/index.ts';
import type { Owner, SessionId } from '../../src/lease/names.ts';
import { countedStore, type ExecutionCounts } from '../../src/server/metrics.ts';
import type { Finish } from '../../src/store/contract/execution-store.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { digestOf } from '../../src/support/digest.ts';
import { TestCoordinator } from './coordinator.ts';
import { RawWorker } from './raw-worker.ts';

const STEP_EVENTS = [{ kind: 'step-completed', name: 's', body: '{"key":"step:s#1"}' }];

test("M-18: a worker's children, reminders and successors cannot have a foreign parent", async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const theirs = await RawWorker.open(coordinator, 'theirs');
  const victim = await theirs.running('victim');
  const ours = await RawWorker.open(coordinator, 'ours');
  const other = await ours.running('other');
  const own = await ours.running('x');
  for (const { id } of [victim, other]) {
    const submitted = ours.submission({ parent: { id, call: 'child:pay#1[0]' } });
    const reminder = { afterMs: 1, start: submitted };
    const asking = { call: 'await:a#1', name: 'a', needed: 1, signed: false, checked: false };
    const items = [{ id: interactionId({ execution: own.id, name: 'a' }) }];
    for (const what of [
      { children: [submitted] },
      { awaits: [{ ...asking, items, reminders: [reminder] }] },
    ]) {
      const { status, json } = await ours.write(own, { events: STEP_EVENTS, ...what });
      assert.deepEqual([status, json.code], [403, 'project-denied']);
    }
    const end = { verb: 'finish', status: 'completed', events: [{ kind: 'completed' }] };
    const { json } = await ours.write(own, { ...end, successor: submitted });
    assert.deepEqual([json.results[0].kind, json.results[0].code], ['fault', 'project-denied']);
    assert.deepEqual(
      await coordinator.store.executions.inbox({ id, after: 0, limit: 9 } as never),
      [],
    );
  }
  const history = await ours.call('GET', `/v1/executions/${own.id}/history`);
  assert.ok(!JSON.stringify(history.json).includes('step-completed'), 'nothing was written');
});

test("a worker's own children, and a successor with its predecessor's parent, are accepted", async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const worker = await RawWorker.open(coordinator, 'ours');
  const own = await worker.running('x');
  const parent = { id: own.id, call: 'child:pay#1[0]' };
  const children = [worker.submission({ parent })];
  const { json } = await worker.write(own, { events: STEP_EVENTS, children });
  assert.equal(json.results[0].kind, 'recorded');
  const child = await worker.claim('child');
  const end = { verb: 'finish', status: 'completed', events: [{ kind: 'completed' }] };
  const answer = await worker.write(child, { ...end, successor: worker.submission({ parent }) });
  assert.equal(answer.json.results[0].kind, 'finished');
});

test('M-18: a worker opens awaits only under ids of its own execution', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const asking = { call: 'await:a#1', name: 'a', needed: 1, reminders: [] };
  const plain = { ...asking, signed: false, checked: false };
  const theirs = await RawWorker.open(coordinator, 'theirs');
  const victim = await theirs.running('victim');
  const id = interactionId({ execution: victim.id, name: 'a' });
  const question = (request: string): object => ({
    events: STEP_EVENTS,
    awaits: [{ ...plain, items: [{ id, request }] }],
  });
  const opened = await theirs.write(victim, question('{"v":"pay 10?"}'));
  assert.equal(opened.json.results[0].kind, 'recorded');
  const ours = await RawWorker.open(coordinator, 'ours');
  const own = await ours.running('x');
  const { status, json } = await ours.write(own, question('{"v":"pay 9999?"}'));
  assert.deepEqual([status, json.code], [403, 'project-denied']);
  const seen = await theirs.call('GET', `/v1/awaits/${id}`);
  assert.match(JSON.stringify(seen.json), /pay 10\?/);
});

test('opening a session of another project is refused as unknown', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const theirs = await RawWorker.open(coordinator, 'theirs');
  const ours = await RawWorker.open(coordinator, 'ours');
  const again = { id: theirs.session, owner: 'theirs', ttlMs: 60_000, graceMs: 1_000 };
  const { status, json } = await ours.call('POST', '/v1/work/sessions', again);
  assert.deepEqual([status, json.code], [404, 'session-unknown']);
  assert.equal((await theirs.call('POST', '/v1/work/sessions', again)).status, 200);
});

/** One answer looks at a limited number; this is a few more. */
const CROWD = 10_050;

test('a list of sessions has no session of another project, and no cursor behind one', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const { sessions } = coordinator.store;
  for (let n = 0; n < CROWD; n += 1) {
    // As by one clock, with several in one millisecond.
    const ms = (n >> 2).toString(16).padStart(4, '0');
    const id = `01a1e190-${ms}-7000-8000-${n.toString(16).padStart(12, '0')}` as SessionId;
    const metadata = { 'holdfast.project': 'theirs' };
    const owner = 'w' as Owner;
    await sessions.open({ id, owner, ttlMs: 3_600_000, graceMs: 0, metadata });
  }
  const key = await coordinator.key(['operate'], 'ours');
  const own = new RawWorker(coordinator.url, key, 'ours');
  const { json } = await own.call('GET', '/v1/sessions');
  assert.deepEqual(json, { items: [] });
});

const ENDS = { verb: 'finish', status: 'completed' };

test('the result of an execution never comes from another project, whatever its continuation names', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const theirs = await RawWorker.open(coordinator, 'theirs');
  const victim = await theirs.running('victim');
  const secret = { kind: 'completed', body: '{"out":{"v":"secret"}}' };
  await theirs.write(victim, { ...ENDS, events: [secret] });
  const ours = await RawWorker.open(coordinator, 'ours');
  const own = await ours.running('x');
  const body = JSON.stringify({ continuedAs: victim.id });
  const events = [{ kind: 'completed', body }];
  assert.equal((await ours.write(own, { ...ENDS, events })).status, 400);
  // Like a row from before this check.
  const finish = { ...own, status: 'completed', events };
  await coordinator.store.executions.finish(finish as unknown as Finish);
  const { status, json } = await ours.call('GET', `/v1/executions/${own.id}/result`);
  assert.deepEqual([status, json.code], [404, 'execution-unknown']);
});

test('a published value never comes from another project, whatever the continuation names', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const theirs = await RawWorker.open(coordinator, 'theirs');
  const victim = await theirs.running('victim');
  const bytes = Buffer.from('{"out":{"v":"secret"}}').toString('base64');
  const value = { name: 'holdfast.published/state', type: 'application/json', bytes };
  const published = await theirs.write(victim, { events: STEP_EVENTS, attachments: [value] });
  assert.equal(published.json.results[0].kind, 'recorded');
  const read = `/published/state`;
  const seen = await theirs.call('GET', `/v1/executions/${victim.id}${read}`);
  assert.deepEqual(seen.json, { value: 'secret' });
  const ours = await RawWorker.open(coordinator, 'ours');
  const own = await ours.running('x');
  const events = [{ kind: 'completed', body: JSON.stringify({ continuedAs: victim.id }) }];
  // Like a row from before writes were checked.
  const finish = { ...own, status: 'completed', events };
  await coordinator.store.executions.finish(finish as unknown as Finish);
  const { status, json } = await ours.call('GET', `/v1/executions/${own.id}${read}`);
  assert.deepEqual([status, json.code], [404, 'execution-unknown']);
});

test('a reply or published value that is large, or no value, is refused', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const worker = await RawWorker.open(coordinator, 'ours');
  const own = await worker.running('x');
  const attached = (name: string, text: string): object => {
    const bytes = Buffer.from(text).toString('base64');
    return { events: STEP_EVENTS, attachments: [{ name, type: 'application/json', bytes }] };
  };
  const large = `{"out":{"v":[${'1,'.repeat(70_000)}1]}}`;
  for (const name of ['holdfast.published/state', 'holdfast.reply/a']) {
    const tooLarge = await worker.write(own, attached(name, large));
    assert.deepEqual([tooLarge.status, tooLarge.json.code], [413, 'payload-too-large']);
    const absent = `{"out":{"ref":"${'a'.repeat(64)}","size":1}}`;
    const { results } = (await worker.write(own, attached(name, absent))).json;
    assert.deepEqual([results[0].kind, results[0].code], ['fault', 'invalid-input']);
    for (const text of ['', 'null', '{}', '{"out":5}', '{"rejected":5}']) {
      const { status, json } = await worker.write(own, attached(name, text));
      assert.deepEqual([status, json.code], [400, 'invalid-input'], text);
    }
  }
  const { json } = await worker.write(own, attached('holdfast.reply/a', '{"rejected":"no"}'));
  assert.equal(json.results[0].kind, 'recorded');
  const file = await worker.write({ ...own, seq: own.seq + 1 }, attached('report', large));
  assert.equal(file.json.results[0].kind, 'recorded', 'files may be large');
});

const LARGE = new TextEncoder().encode('"a secret of theirs"');

test("knowing the digest of another project's value gives no access, by reading or by reference", async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const digest = digestOf(LARGE);
  const { executions } = coordinator.store;
  const theirs = await RawWorker.open(coordinator, 'theirs');
  await executions.putBlob({ project: parseProject('theirs'), digest, bytes: LARGE });
  const value = `/v1/work/blobs/${digest}`;
  assert.equal((await theirs.call('GET', value)).json, 'a secret of theirs');
  const ours = await RawWorker.open(coordinator, 'ours');
  const absent = 'f'.repeat(64);
  const refused = await ours.call('GET', value);
  const { json } = await ours.call('GET', `/v1/work/blobs/${absent}`);
  assert.equal(refused.status, 404);
  assert.deepEqual(JSON.parse(JSON.stringify(refused.json).replaceAll(digest, absent)), {
    ...json,
    ...('instance' in json ? { instance: refused.json.instance } : {}),
  });
  const own = await ours.running('x');
  const ref = `{"ref":"${digest}","size":${LARGE.length}}`;
  // In any spelling, in any place.
  const odd = `{"r\\u0065f":"${digest}"}`;
  const progress = (body: string): object => ({ events: [{ kind: 'progressed', body }] });
  const asking = { call: 'await:a#1', name: 'a', needed: 1, signed: false, checked: false };
  const items = [{ id: interactionId({ execution: own.id, name: 'a' }), request: ref }];
  const plain = [{ id: interactionId({ execution: own.id, name: 'a' }) }];
  const parent = { id: own.id, call: 'child:pay#1[0]' };
  for (const what of [
    ...[`{"out":${ref}}`, `{"out":${odd}}`, `{"state":${ref}}`, `{"answers":[{"out":${ref}}]}`].map(
      progress,
    ),
    { events: STEP_EVENTS, progress: ref },
    { events: STEP_EVENTS, children: [ours.submission({ parent, input: ref })] },
    { events: STEP_EVENTS, awaits: [{ ...asking, items, reminders: [] }] },
    {
      events: STEP_EVENTS,
      awaits: [{ ...asking, items: plain, reminders: [], defaultAnswer: ref }],
    },
    { ...ENDS, events: [{ kind: 'completed', body: `{"out":${ref}}` }], outcome: `{"out":${ref}}` },
    { ...ENDS, events: [{ kind: 'completed' }], successor: ours.submission({ input: ref }) },
  ]) {
    const { json } = await ours.write(own, what);
    const { kind, code } = json.results[0];
    assert.deepEqual([kind, code], ['fault', 'invalid-input'], JSON.stringify(what));
  }
  // Inline values are their own.
  const { results } = (await ours.write(own, progress(`{"out":{"v":${ref}}}`))).json;
  assert.equal(results[0].kind, 'recorded');
  const history = await ours.call('GET', `/v1/executions/${own.id}/history`);
  assert.ok(!JSON.stringify(history.json).includes('secret'));
});

test("a forged reference in a row gives no reader another project's value", async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const digest = digestOf(LARGE);
  const { executions } = coordinator.store;
  await executions.putBlob({ project: parseProject('theirs'), digest, bytes: LARGE });
  const ours = await RawWorker.open(coordinator, 'ours');
  const own = await ours.running('x');
  const body = `{"out":{"ref":"${digest}","size":${LARGE.length}}}`;
  const finish = { ...own, status: 'completed', events: [{ kind: 'completed', body }] };
  assert.equal((await executions.finish(finish as unknown as Finish)).kind, 'finished');
  for (const path of ['/history', '/result', '/explain']) {
    const { json } = await ours.call('GET', `/v1/executions/${own.id}${path}`);
    assert.ok(!JSON.stringify(json).includes('secret'), path);
  }
  assert.equal((await ours.call('GET', `/v1/work/blobs/${digest}`)).status, 404);
});

const deep = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

test('M-22: unreadable events are refused before they are written', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const worker = await RawWorker.open(coordinator, 'ours');
  const own = await worker.running('x');
  const writeOf = (kind: string, body?: string): object => ({
    events: [{ kind, name: 's', body }],
  });
  const progress = (body: string): object => writeOf('progressed', body);
  const refused = [
    ...['null', '[1]', '5', '"x"', '{"key":5}', '{"ids":5}', '{"ids":[5]}', '{"with":"x"}'].map(
      progress,
    ),
    ...['{"failure":5}', '{"failure":null}', '{"failure":{"message":{}}}', '{"for":7}'].map(
      progress,
    ),
    ...['{"n":"1"}', '{"out":null}', '{"continuedAs":1}', '{"saga":1}', '{'].map(progress),
    progress(`{"note":${deep(20_000)}}`),
    progress(`{"note":"\\"","deep":${deep(1_000)}}`),
    { events: STEP_EVENTS, progress: deep(1_001) },
    { events: STEP_EVENTS, children: [worker.submission({ input: deep(1_001) })] },
    { events: [{ ...STEP_EVENTS[0], name: 'a\0b' }] },
    { events: STEP_EVENTS, children: [worker.submission({ tags: ['\0'] })] },
    { events: STEP_EVENTS, children: [worker.submission({ attributes: { 'a\0': 'b' } })] },
    { events: STEP_EVENTS, attachments: [{ name: 'n\0', type: 't', bytes: 'AA==' }] },
  ];
  for (const what of refused) {
    const { status, json } = await worker.write(own, what);
    assert.deepEqual(
      [status, json.code],
      [400, 'invalid-input'],
      JSON.stringify(what).slice(0, 99),
    );
  }
  const fine = `{"key":"step:s#1","note":${JSON.stringify(`${'[{\\"'.repeat(2_000)}`)},"deep":${deep(999)}}`;
  const { json } = await worker.write(own, progress(fine));
  assert.equal(json.results[0].kind, 'recorded');
});

test('unreadable events from before that check can be read, and are counted', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const { executions } = coordinator.store;
  const worker = await RawWorker.open(coordinator, 'ours');
  for (const body of ['null', '[1]', '5', '{"key":5}', '{"ids":5}', '{"failure":null}']) {
    const own = await worker.running('x');
    const events = ['step-failed', 'child-spawned', 'await-opened', 'failed'] as const;
    const written = events.map((kind) => ({ kind, name: 'n', body }));
    const finish = { ...own, status: 'failed', events: written } as unknown as Finish;
    assert.equal((await executions.finish(finish)).kind, 'finished');
    for (const path of ['', '/history', '/result', '/explain']) {
      const { status } = await worker.call('GET', `/v1/executions/${own.id}${path}`);
      assert.equal(status, 200, `${path} of ${body}`);
    }
    const { status } = await worker.call('POST', `/v1/executions/${own.id}/redrive`, {});
    assert.ok(status < 500, `redrive of ${body}`);
  }
});

test('an error in the counts never undoes the answer to a write that is done', async () => {
  const plain = openMemoryStore();
  const counts = {
    step: () => undefined,
    submitted: () => undefined,
  } as unknown as ExecutionCounts;
  const { executions } = countedStore(
    {
      ...plain,
      executions: { ...plain.executions, record: async () => ({ kind: 'recorded' }) as never },
    },
    () => counts,
  );
  const events = [{ kind: 'step-failed', name: 's', body: 'null' }];
  assert.equal((await executions.record({ events } as never)).kind, 'recorded');
  await plain.close();
});

test('a fault in one of many writes is in the log', async () => {
  const plain = openMemoryStore();
  const record = async (): Promise<never> => {
    throw new TypeError('of the inside');
  };
  const faults: unknown[] = [];
  const log = { info: () => undefined, fault: (...args: unknown[]) => faults.push(args.slice(1)) };
  const store = { ...plain, executions: { ...plain.executions, record } };
  await using coordinator = await TestCoordinator.open({ store, log });
  const worker = await RawWorker.open(coordinator, 'ours');
  const { json } = await worker.write(await worker.running('x'), { events: STEP_EVENTS });
  assert.deepEqual([json.results[0].kind, json.results[0].code], ['fault', 'fault']);
  assert.deepEqual(faults, [[new TypeError('of the inside'), { code: 'fault' }]]);
});

test('M-21: a remote worker holds nothing longer than ten minutes after its last heartbeat', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const worker = await RawWorker.open(coordinator, 'ours');
  const { session: id } = worker;
  const another = { id: '01a1e190-0000-7000-8000-000000000001', owner: 'ours' };
  for (const [path, body] of [
    ['/v1/work/sessions', { ...another, ttlMs: 600_001, graceMs: 0 }],
    ['/v1/work/sessions', { ...another, ttlMs: 60_000, graceMs: 600_001 }],
    [`/v1/work/sessions/${id}/heartbeat`, { owner: 'ours', ttlMs: 600_001 }],
  ] as const) {
    const { status, json } = await worker.call('POST', path, body);
    assert.deepEqual([status, json.code], [400, 'invalid-input'], path);
  }
  const longest = { ...another, ttlMs: 600_000, graceMs: 600_000 };
  assert.equal((await worker.call('POST', '/v1/work/sessions', longest)).status, 200);
});
