// Attacks through a worker's writes: what other readers see of them, and what the answers reveal.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { interactionIdOf } from '../../src/engine/ids.ts';
import { type CallKey, type ExecutionId, parseProject } from '../../src/execution/names.ts';
import { interactionId, openHoldfast } from '../../src/index.ts';
import type {
  CoordinatorStore,
  ExecutionStore,
  Finish,
} from '../../src/store/contract/execution-store.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { TestCoordinator } from './coordinator.ts';
import { type RawOwner, RawWorker } from './raw-worker.ts';

const STEP_EVENTS = [{ kind: 'step-completed', name: 's', body: '{"key":"step:s#1"}' }];
const ENDS = { verb: 'finish', status: 'completed' };
const INVALID = [400, 'invalid-input'];

const goesOnAs = (id: string): readonly object[] => [
  { kind: 'completed', body: JSON.stringify({ continuedAs: id }) },
];

test('X-72: an execution that continues as itself, or in a circle, has no result, and no reader hangs', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const { store } = coordinator;
  const worker = await RawWorker.open(coordinator, 'ours');
  const all: RawOwner[] = [];
  for (let n = 0; n < 4; n += 1) all.push(await worker.running('x'));
  const [itself, begins, first, second] = all as [RawOwner, RawOwner, RawOwner, RawOwner];
  // Like rows from before this check.
  for (const [own, as] of [
    [itself, itself],
    [begins, first],
    [first, second],
    [second, first],
  ] as const) {
    const finish = { ...own, status: 'completed', events: goesOnAs(as.id) };
    assert.equal((await store.executions.finish(finish as unknown as Finish)).kind, 'finished');
  }
  await using holdfast = await openHoldfast({ store });
  for (const { id } of all) {
    for (const query of ['', '?waitMs=1000']) {
      const { status, json } = await worker.call('GET', `/v1/executions/${id}/result${query}`);
      assert.deepEqual([status, json.code], [409, 'continued-in-circle']);
    }
    await assert.rejects(holdfast.result(id), { code: 'continued-in-circle' });
  }
});

test('X-72: a worker can continue only as an execution that it submits in the same write', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const worker = await RawWorker.open(coordinator, 'ours');
  const own = await worker.running('x');
  const other = await worker.running('x');
  const successor = worker.submission({}) as { readonly id: string };
  const parent = { id: own.id, call: 'child:pay#1[0]' };
  const twice = `{"continuedAs":"${other.id}","continuedAs":"${successor.id}"}`;
  const continues = (id: string): string => JSON.stringify({ continues: id });
  for (const what of [
    { ...ENDS, events: goesOnAs(own.id) },
    { ...ENDS, events: goesOnAs(other.id) },
    { ...ENDS, events: goesOnAs(other.id), successor },
    { ...ENDS, events: [{ kind: 'completed', body: twice }], successor },
    { ...ENDS, events: goesOnAs(own.id), successor: { ...successor, id: own.id } },
    {
      ...ENDS,
      events: goesOnAs(successor.id),
      successor: { ...successor, body: continues(other.id) },
    },
    { events: goesOnAs(own.id) },
    { events: STEP_EVENTS, children: [worker.submission({ parent, body: continues(own.id) })] },
    { events: STEP_EVENTS, children: [{ ...successor, body: continues(successor.id) }] },
    { events: STEP_EVENTS, children: [worker.submission({ parent, body: '5' })] },
  ]) {
    const { status, json } = await worker.write(own, what);
    assert.deepEqual([status, json.code], INVALID, JSON.stringify(what));
  }
  const { json } = await worker.write(own, {
    ...{ ...ENDS, events: goesOnAs(successor.id) },
    successor: { ...successor, body: continues(own.id) },
  });
  assert.equal(json.results[0].kind, 'finished');
  const next = await worker.claim('child');
  const events = [{ kind: 'completed', body: '{"out":{"v":7}}' }];
  await worker.write(next, { ...ENDS, events });
  const { json: result } = await worker.call('GET', `/v1/executions/${own.id}/result`);
  assert.deepEqual([result.id, result.output], [successor.id, 7]);
});

test("guessing the write of another project's worker is refused like a wrong guess", async () => {
  await using coordinator = await TestCoordinator.open();
  const theirs = await RawWorker.open(coordinator, 'theirs');
  const parent = await theirs.running('loans');
  const parentOf = { id: parent.id, call: 'child:loan#1[0]' };
  const children = [theirs.submission({ pipeline: 'loan', parent: parentOf })];
  await theirs.write(parent, { events: STEP_EVENTS, children });
  const victim = await theirs.claim('loan');
  const successor = theirs.submission({ parent: parentOf });
  const finish = {
    ...{ ...ENDS, events: [{ kind: 'completed', body: '{"out":{"v":"denied"}}' }] },
  };
  const finished = await theirs.write(victim, { ...finish, successor });
  assert.equal(finished.json.results[0].kind, 'finished');
  const again = await theirs.write(victim, { ...finish, successor });
  assert.equal(again.json.results[0].kind, 'finished', 'a repeated write is answered as the first');
  const ours = await RawWorker.open(coordinator, 'ours');
  // So that the fence is known already.
  await ours.running('x');
  const guessed = { ...victim, session: ours.session };
  const { json } = await ours.write(guessed, finish);
  const unknown = { kind: 'refused', why: 'execution-unknown', id: victim.id };
  assert.deepEqual(json.results, [unknown]);
  // Nor its parent.
  const own = { ...successor, project: 'ours' };
  const { results } = (await ours.write(guessed, { ...finish, successor: own })).json;
  assert.equal(results[0].code, 'project-denied');
});

test('a coordinator that has just started reveals no fences of another project', async () => {
  await using before = await TestCoordinator.onMemory();
  const theirs = await RawWorker.open(before, 'theirs');
  const victim = await theirs.running('victim');
  const ours = await RawWorker.open(before, 'ours');
  const absent = (ours.submission() as { readonly id: string }).id;
  for (const fence of [victim.fence - 1, victim.fence, victim.fence + 1]) {
    // Each on a coordinator that has just started and has seen no fence.
    const after = await TestCoordinator.open({ store: { ...before.store } });
    const guess = await RawWorker.open(after, 'ours');
    const answerFor = async (id: string): Promise<string> => {
      const owner = { id, fence, session: guess.session, seq: victim.seq };
      const { json } = await guess.write(owner, { events: STEP_EVENTS });
      return JSON.stringify(json).replaceAll(id, 'it');
    };
    const ofNothing = await answerFor(absent);
    const ofTheirs = await answerFor(victim.id);
    await after.server.close();
    assert.equal(ofTheirs, ofNothing, `fence ${fence}`);
  }
});

const NO_VALUES = [
  ...['{"x":1}', '{"enc":5}', '{"enc":"aa"}', '{"enc":"!!","by":"q"}', '{"ref":"zz"}', '{"ref":5}'],
  ...['{"v":1,"enc":"aaaa","by":"q"}', '{"v":1,"by":5}', '7', '"text"', '[1]', 'null'],
];

test('a malformed stored value is refused, and every valid form is accepted', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const worker = await RawWorker.open(coordinator, 'ours');
  const own = await worker.running('x');
  const parent = { id: own.id, call: 'child:pay#1[0]' };
  const asking = { call: 'await:a#1', name: 'a', needed: 1, signed: false, checked: false };
  const item = { id: interactionId({ execution: own.id, name: 'a' }) };
  const awaits = [{ ...asking, reminders: [], items: [item] }];
  const writesOf = (value: string): readonly object[] => [
    { events: [{ kind: 'step-completed', name: 's', body: `{"key":"step:s#1","out":${value}}` }] },
    { events: STEP_EVENTS, progress: value },
    { events: STEP_EVENTS, children: [worker.submission({ parent, input: value })] },
    {
      events: STEP_EVENTS,
      awaits: awaits.map((each) => ({ ...each, items: [{ ...item, request: value }] })),
    },
    { events: STEP_EVENTS, awaits: awaits.map((each) => ({ ...each, defaultAnswer: value })) },
    { ...ENDS, events: [{ kind: 'completed', body: `{"out":${value}}` }] },
    { ...ENDS, events: [{ kind: 'completed' }], outcome: `{"status":"completed","out":${value}}` },
  ];
  for (const value of NO_VALUES) {
    for (const what of writesOf(value)) {
      const { status, json } = await worker.write(own, what);
      assert.deepEqual([status, json.code], INVALID, JSON.stringify(what));
    }
  }
  for (const value of ['{}', '{"v":null}', '{"v":{"x":1}}', '{"enc":"q83v","by":"aes:1"}']) {
    // Events that do not name their execution.
    for (const what of writesOf(value).filter((each) => !JSON.stringify(each).includes(own.id))) {
      if ('awaits' in what) continue;
      const { json } = await worker.write(await worker.running('y'), what);
      assert.match(json.results[0].kind, /^(recorded|finished)$/, JSON.stringify(what));
    }
  }
});

test('a malformed stored value stays sealed, and the rest of its execution can be read', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const { executions } = coordinator.store;
  const worker = await RawWorker.open(coordinator, 'ours');
  for (const value of ['{"x":1}', '{"enc":5}', '{"ref":"zz"}', '{"v":1,"enc":"aaaa","by":"q"}']) {
    const own = await worker.running('x');
    const events = [{ kind: 'completed', body: `{"out":${value}}` }];
    const finish = { ...own, status: 'completed', events, progress: value };
    assert.equal((await executions.finish(finish as unknown as Finish)).kind, 'finished');
    for (const path of ['', '/history', '/result', '/explain']) {
      const { status } = await worker.call('GET', `/v1/executions/${own.id}${path}`);
      assert.equal(status, 200, `${path} of ${value}`);
    }
  }
});

test('M-17, M-24: a history of large values is read in pages that end early, within a bound', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const worker = await RawWorker.open(coordinator, 'ours');
  const own = await worker.running('x');
  const large = JSON.stringify({ key: 'step:s#1', out: { v: 'y'.repeat(1_000_000) } });
  for (let nth = 0; nth < 20; nth += 1) {
    const events = [{ kind: 'step-completed', name: 's', body: large }];
    const { json } = await worker.write({ ...own, seq: own.seq + nth }, { events });
    assert.equal(json.results[0].kind, 'recorded');
  }
  for (const path of [`executions/${own.id}`, `work/executions/${own.id}`]) {
    let last = 0;
    let pages = 0;
    for (let more = true; more; pages += 1) {
      const { json } = await worker.call('GET', `/v1/${path}/history?limit=1000&after=${last}`);
      assert.ok(json.items.length < 7, path);
      assert.equal(json.items[0].seq, last + 1);
      last = json.items.at(-1).seq;
      more = json.more === true;
    }
    assert.ok(pages > 4, `${pages} pages`);
    assert.equal(last, own.seq + 19);
  }
  const client = await coordinator.client(['submit'], 'ours');
  const whole = await client.executions.history(own.id, { limit: 1_000 });
  assert.equal(whole.at(-1)?.seq, own.seq + 19);
});

test('a list of values that are kept apart reads no more of them than fit one page', async () => {
  const plain = openMemoryStore();
  let opened = 0;
  const getBlob: ExecutionStore['getBlob'] = (asked) => {
    opened += 1;
    return plain.executions.getBlob(asked);
  };
  const executions = new Proxy(plain.executions, {
    get: (target, name) =>
      name === 'getBlob' ? getBlob : Reflect.get(target, name, target).bind?.(target),
  });
  await using coordinator = await TestCoordinator.open({ store: { ...plain, executions } });
  const worker = await RawWorker.open(coordinator, 'ours');
  const own = await worker.running('x');
  const bytes = Buffer.from(JSON.stringify('y'.repeat(1_250_000)));
  const digest = createHash('sha256').update(bytes).digest('hex');
  const project = parseProject('ours');
  await plain.executions.putBlob({ project, digest, bytes });
  const request = JSON.stringify({ ref: digest, size: 1 });
  const items = Array.from({ length: 50 }, (_, item) => ({
    id: interactionId({ execution: own.id, name: 'a', item }),
    request,
  }));
  const asking = { call: 'await:a#1', name: 'a', needed: 1, signed: false, checked: false };
  const { json } = await worker.write(own, {
    events: STEP_EVENTS,
    awaits: [{ ...asking, reminders: [], items }],
  });
  assert.equal(json.results[0].kind, 'recorded', JSON.stringify(json));
  const page = await worker.call('GET', '/v1/awaits?limit=1000');
  assert.deepEqual([page.json.items.length, opened], [3, 4]);
  const next = await worker.call('GET', `/v1/awaits?limit=1000&cursor=${page.json.cursor}`);
  assert.equal(next.json.items.length, 3);
});

test('M-17: a write is refused by its number of rows and the length of its values, before parsing', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const worker = await RawWorker.open(coordinator, 'ours');
  const own = await worker.running('x');
  const tags = Array.from({ length: 100 }, (_, n) => `t${n}`);
  const long = JSON.stringify({ v: 'y'.repeat(128 * 1024) });
  const body = JSON.stringify({ out: { v: 'y'.repeat(1024 * 1024) } });
  for (const what of [
    { children: Array.from({ length: 200 }, () => worker.submission({ tags })) },
    { children: [worker.submission({ input: long })] },
    { progress: long },
    { events: [{ kind: 'step-completed', name: 's', body }] },
    {
      events: Array.from({ length: 20_000 }, () => STEP_EVENTS[0]),
      progress: '{}',
      children: [worker.submission()],
    },
  ]) {
    const { status, json } = await worker.write(own, { events: STEP_EVENTS, ...what });
    assert.deepEqual([status, json.code], [413, 'payload-too-large'], Object.keys(what).join());
  }
  const children = Array.from({ length: 150 }, () => worker.submission({ tags }));
  const { json } = await worker.write(own, { events: STEP_EVENTS, children });
  assert.equal(json.results[0].kind, 'recorded');
});

test('CH-12: channels do not turn one write into more rows than a write may have, nor a commit', async () => {
  const { store, commits } = countingRows(openMemoryStore());
  const signing = { keys: { k1: 'channel secret '.repeat(3) }, current: 'k1' };
  await using coordinator = await TestCoordinator.open({ store, channels: { signing } });
  const worker = await RawWorker.open(coordinator, 'ours');
  const asked = async (awaits: number): Promise<unknown> => {
    const own = await worker.running('x');
    const unit = (nth: number): object => {
      const call = `await:q#${nth}` as CallKey;
      const items = Array.from({ length: 100 }, (_, item) => ({
        id: interactionIdOf({ execution: own.id as ExecutionId, call, item }),
      }));
      const about = { needed: 100, signed: false, checked: false, reminders: [] };
      return { call, name: 'q', items, ...about };
    };
    const { json } = await worker.write(own, {
      events: [{ kind: 'await-opened', name: 'q', body: '{"key":"await:q#0"}' }],
      awaits: Array.from({ length: awaits }, (_, nth) => unit(nth)),
    });
    return json.results[0].code ?? json.results[0].kind;
  };
  assert.equal(await asked(10), 'recorded');
  for (let nth = 0; nth < 20; nth += 1) {
    const channel = { kind: 'webhook', url: 'https://example.com/', paused: true };
    const events = ['question-opened', 'execution-ended'];
    const { status } = await worker.call('PUT', `/v1/channels/c${nth}`, { ...channel, events });
    assert.equal(status, 200);
  }
  assert.equal(await asked(9), 'recorded');
  assert.equal(await asked(10), 'payload-too-large');
  const owners: RawOwner[] = [];
  for (let nth = 0; nth < 300; nth += 1) owners.push(await worker.running('x'));
  const events = [{ kind: 'completed', body: '{"out":{"v":7}}' }];
  const writes = owners.map((owner) => ({ ...ENDS, ...owner, events }));
  commits.length = 0;
  const { json } = await worker.call('POST', '/v1/work/writes', { writes });
  assert.ok(json.results.every(({ kind }: { kind: string }) => kind === 'finished'));
  assert.ok(Math.max(...commits) <= 125, `${commits.join()} ends began together`);
});

/** Counts the ends that begin before the first of them is over. */
function countingRows(store: CoordinatorStore): {
  readonly store: CoordinatorStore;
  readonly commits: number[];
} {
  const commits: number[] = [];
  let underWay = 0;
  const finish: ExecutionStore['finish'] = async (request) => {
    if (underWay === 0) commits.push(0);
    underWay += 1;
    commits[commits.length - 1] = Math.max(commits.at(-1) ?? 0, underWay);
    return store.executions.finish(request).finally(() => {
      underWay -= 1;
    });
  };
  return { commits, store: { ...store, executions: { ...store.executions, finish } } };
}
