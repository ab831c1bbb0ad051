// One execution takes a bounded history from workers, whatever they write and whichever coordinator
// they use.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HoldfastClient } from '../../src/client/client.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import { interactionId } from '../../src/index.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { TestCoordinator } from './coordinator.ts';
import { type Raw, type RawOwner, RawWorker } from './raw-worker.ts';

const MIB = 1024 * 1024;
const limits = { historyEventsMax: 100, historyBytesMax: MIB };

function steps(count: number, chars: number = 0): { readonly events: readonly object[] } {
  const body = JSON.stringify({ key: 'step:s#1', out: { v: 'y'.repeat(chars) } });
  return {
    events: Array.from({ length: count }, () => ({ kind: 'step-completed', name: 's', body })),
  };
}

function answerOf({ json }: Raw): readonly [kind: string, code?: string] {
  const { kind, code } = json.results[0];
  return code === undefined ? [kind] : [kind, code];
}

const REFUSED = ['fault', 'payload-too-large'];
const ENDS = { verb: 'finish', status: 'completed', events: [{ kind: 'completed' }] };

test('M-32: an execution takes a limited number of events from workers, and can still be ended', async () => {
  await using coordinator = await TestCoordinator.onMemory({ limits });
  const worker = await RawWorker.open(coordinator, 'ours');
  const own = await worker.running('x');
  const room = limits.historyEventsMax - own.seq + 1;
  assert.deepEqual(answerOf(await worker.write(own, steps(room + 1))), REFUSED);
  assert.deepEqual(answerOf(await worker.write(own, steps(room))), ['recorded']);
  const next: RawOwner = { ...own, seq: own.seq + room };
  assert.deepEqual(answerOf(await worker.write(next, steps(1))), REFUSED);
  const { json } = await worker.write(next, steps(1));
  assert.match(json.results[0].detail, /exceed 100 events.*Nothing was written.*limits\.history/);
  assert.deepEqual(answerOf(await worker.write(next, ENDS)), ['finished']);
});

test('M-32: an execution takes a limited size of events from workers, also over another coordinator', async () => {
  const store = openMemoryStore();
  const shared = { ...store, close: async () => undefined };
  await using first = await TestCoordinator.open({ store: shared, limits });
  await using second = await TestCoordinator.open({ store: shared, limits });
  const key = await first.key(['work', 'submit', 'operate'], 'ours');
  const worker = new RawWorker(first.url, key, 'ours');
  const session = { id: worker.session, owner: 'ann', ttlMs: 60_000, graceMs: 1_000 };
  await worker.call('POST', '/v1/work/sessions', session);
  const own = await worker.running('x');
  const half = MIB / 2;
  assert.deepEqual(answerOf(await worker.write(own, steps(1, half))), ['recorded']);
  const next: RawOwner = { ...own, seq: own.seq + 1 };
  for (let nth = 0; nth < 3; nth += 1) {
    assert.deepEqual(answerOf(await worker.write(next, steps(1, half))), REFUSED);
  }
  const elsewhere = new RawWorker(second.url, key, 'ours');
  assert.deepEqual(answerOf(await elsewhere.write(next, steps(1, half))), REFUSED);
  // Refused writes do not count.
  assert.deepEqual(answerOf(await worker.write(next, steps(1, half / 2))), ['recorded']);
  const last: RawOwner = { ...next, seq: next.seq + 1 };
  assert.deepEqual(answerOf(await worker.write(last, ENDS)), ['finished']);
  await store.close();
});

test('a pipeline that records without end fails with that reason', async () => {
  await using coordinator = await TestCoordinator.onMemory({ limits });
  const endless = pipeline({
    name: 'endless',
    async run(ctx) {
      for (;;) await ctx.step('again', () => 1);
    },
  });
  await coordinator.worker([endless], { project: 'ours' });
  const key = await coordinator.key(['submit'], 'ours');
  const { executions } = new HoldfastClient({ url: coordinator.url, key });
  const { id } = await executions.submit({ pipeline: 'endless' });
  const { status, failure } = await executions.result(id);
  assert.equal(status, 'failed');
  assert.match(failure?.message ?? '', /exceed 100 events/);
});

/** More than a page has room for; 64 small rows come first. */
const LARGE = { rows: 24, chars: 200_000, small: 64 };
const PAGE_BYTES = 4 * MIB;

test('P-18: no request reads more of a long history or inbox at once than a page has room for', async () => {
  const plain = openMemoryStore();
  const { executions } = plain;
  let most = 0;
  const watched =
    <Query, Row extends { readonly body?: string }>(
      read: (query: Query) => Promise<readonly Row[]>,
    ) =>
    async (query: Query): Promise<readonly Row[]> => {
      const rows = await read(query);
      most = Math.max(
        most,
        rows.reduce((sum, { body = '' }) => sum + body.length, 0),
      );
      return rows;
    };
  const counted = {
    ...executions,
    history: watched(executions.history),
    inbox: watched(executions.inbox),
  };
  await using coordinator = await TestCoordinator.open({
    store: { ...plain, executions: counted },
    maintenance: false,
  });
  const worker = await RawWorker.open(coordinator, 'ours');
  const own = await worker.running('x');
  let { seq } = own;
  const write = async (what: { readonly events: readonly object[] }): Promise<Raw> => {
    const written = await worker.write({ ...own, seq }, what);
    seq += what.events.length;
    return written;
  };
  for (let nth = 0; nth < LARGE.small; nth += 1) {
    const body = { name: 'm', value: 1 };
    await worker.call('POST', `/v1/executions/${own.id}/signals`, body);
  }
  await write(steps(LARGE.small));
  for (let nth = 0; nth < LARGE.rows; nth += 1) {
    await write(steps(1, LARGE.chars));
    const value = 'y'.repeat(LARGE.chars / 2);
    for (const name of ['m', 'm']) {
      await worker.call('POST', `/v1/executions/${own.id}/signals`, { name, value });
    }
  }
  const id = interactionId({ execution: own.id, name: 'a' });
  const asking = { call: 'await:a#1', name: 'a', needed: 1, reminders: [], items: [{ id }] };
  const opened = JSON.stringify({ key: asking.call, answerSchema: { type: 'string' } });
  const asked = await write({
    events: [{ kind: 'await-opened', name: 'a', body: opened }],
    ...{ awaits: [{ ...asking, signed: false, checked: true }] },
  });
  assert.deepEqual(answerOf(asked), ['recorded']);
  const unknown = `{"out":{"ref":"${'a'.repeat(64)}","size":1}}`;
  const at = `/v1/executions/${own.id}`;
  const requests: Readonly<Record<string, () => Promise<Raw>>> = {
    history: () => worker.call('GET', `${at}/history?limit=1000`),
    'stored history': () => worker.call('GET', `/v1/work/executions/${own.id}/history`),
    inbox: () => worker.call('GET', `/v1/work/executions/${own.id}/inbox?limit=10000`),
    explain: () => worker.call('GET', `${at}/explain`),
    'saved history': () => worker.call('GET', `${at}/saved-history`),
    await: () => worker.call('GET', `/v1/awaits/${id}`),
    'unknown reference': () => write({ events: [{ kind: 'progressed', body: unknown }] }),
  };
  for (const [name, request] of Object.entries(requests)) {
    most = 0;
    const { status, json } = await request();
    assert.equal(status, 200, `${name}: ${JSON.stringify(json).slice(0, 200)}`);
    assert.ok(most <= PAGE_BYTES, `${name} read ${most} characters at once`);
    if (name === 'await') assert.deepEqual(json.answerSchema, { type: 'string' });
  }
});
