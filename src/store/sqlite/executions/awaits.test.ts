import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import {
  answering,
  answeringEarly,
  interactionId,
  lateValues,
  mustFind,
  mustOpen,
  OPENED,
  opening,
  statesOf,
} from '../../../testing/execution-contract/awaits/awaiting.ts';
import {
  ended,
  mustRedrive,
  redriving,
} from '../../../testing/execution-contract/repair/repairing.ts';
import {
  claimIds,
  finishing,
  PROJECT,
  running,
  worker,
  writing,
} from '../../../testing/execution-contract/worker.ts';
import type { CoordinatorStore } from '../../contract/execution-store.ts';
import { openSqliteStore } from '../open.ts';

let folder = '';
let files = 0;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-awaits-'));
});

after(() => rm(folder, { recursive: true, force: true }));

/** The same file, opened twice, as two processes would. */
async function withStores(
  use: (store: CoordinatorStore, other: CoordinatorStore) => Promise<void>,
): Promise<void> {
  files += 1;
  const file = join(folder, `${files}.db`);
  const store = await openSqliteStore({ file });
  const other = await openSqliteStore({ file });
  try {
    await use(store, other);
  } finally {
    await store.close();
    await other.close();
  }
}

test('W-1: a unit that is there is left alone, also by another write', () =>
  withStores(async (store) => {
    const ann = await worker(store);
    const held = await mustOpen(store, await running(store, ann), { items: 2 });
    const id = interactionId(held.id);
    await store.executions.answer(answering(id));
    const stored = await mustFind(store, id);
    await mustOpen(store, held, { items: 2, name: 'another', timeoutMs: 1_000 });
    assert.deepEqual(await mustFind(store, id), stored);
    assert.deepEqual(await statesOf(store, held.id), ['open', 'answered', 'open']);
  }));

test('W-9: an end opens nothing', () =>
  withStores(async (store) => {
    const held = await running(store, await worker(store));
    const awaits = [opening(held.id)];
    const answer = await store.executions.finish({ ...finishing(held), awaits });
    assert.equal(answer.kind, 'finished');
    assert.deepEqual(await statesOf(store, held.id), ['none']);
  }));

test('W-7: that an answer was verified is kept, early or not', () =>
  withStores(async (store) => {
    const held = await running(store, await worker(store));
    await store.executions.answer(answeringEarly(held.id, 'yes', { verified: true }));
    await mustOpen(store, held, { items: 2, signed: true });
    await store.executions.answer(answering(interactionId(held.id, 1), 'yes', { verified: true }));
    for (const item of [0, 1]) {
      const { interaction } = await mustFind(store, interactionId(held.id, item));
      assert.deepEqual([interaction.status, interaction.verified], ['answered', true]);
    }
  }));

test('W-10: what was answered early is found by the name of its unit', () =>
  withStores(async (store) => {
    const held = await running(store, await worker(store));
    await store.executions.answer(answeringEarly(held.id));
    await mustOpen(store, held);
    const query = { project: PROJECT, name: 'approval', limit: 9 };
    const found = await store.executions.interactions(query);
    assert.deepEqual(
      found.map(({ interaction }) => interaction.id),
      [interactionId(held.id)],
    );
  }));

test('W-3, W-4: of two processes that answer at once one wins, and the owner is told once', () =>
  withStores(async (store, other) => {
    const held = await mustOpen(store, await running(store, await worker(store)));
    const id = interactionId(held.id);
    const answers = await Promise.all([
      store.executions.answer(answering(id, 'yes')),
      other.executions.answer(answering(id, 'no')),
    ]);
    const whats = answers.map((each) => (each.kind === 'refused' ? each.why : each.kind));
    assert.deepEqual(whats.sort(), ['answer-conflict', 'answered']);
    const messages = await store.executions.inbox({ id: held.id, after: 0, limit: 9 });
    assert.deepEqual(
      messages.map(({ kind }) => kind),
      ['await-settled'],
    );
    const recorded = await store.executions.record(writing(held));
    assert.equal(recorded.kind === 'recorded' && recorded.news, 1);
  }));

test('W-1: ten thousand items, of which one is answered and the rest closed', () =>
  withStores(async (store) => {
    const held = await running(store, await worker(store));
    const awaits = [opening(held.id, { items: 10_000, needed: 1 })];
    await store.executions.record({ ...writing(held, OPENED), awaits });
    const id = interactionId(held.id, 9_999);
    assert.deepEqual(await store.executions.answer(answering(id)), {
      kind: 'answered',
      settled: true,
    });
    const open = { project: PROJECT, execution: held.id, open: true, limit: 9 };
    assert.deepEqual(await store.executions.interactions(open), []);
    await store.executions.answer(answering(interactionId(held.id), 'late'));
    assert.deepEqual(await lateValues(store, interactionId(held.id)), ['late']);
  }));

test('X-12, Y-20: a re-drive sets the limit of its concurrency key, as every submit does', () =>
  withStores(async (store) => {
    const ann = await worker(store);
    const keyed = (limit: number) => ({ concurrency: { key: 'bank', limit } });
    const old = await ended(store, ann, keyed(1));
    await running(store, ann, keyed(1));
    const { submit } = redriving(old);
    const id = await mustRedrive(store, old, { submit: { ...submit, ...keyed(2) } });
    assert.deepEqual(await claimIds(store, ann), [id]);
  }));

test('Y-21: of two processes that drive the same one again at once, one does', () =>
  withStores(async (store, other) => {
    const old = await ended(store, await worker(store));
    const answers = await Promise.all([
      store.executions.redrive(redriving(old)),
      other.executions.redrive(redriving(old)),
    ]);
    const whats = answers.map((each) => (each.kind === 'refused' ? each.why : each.kind));
    assert.deepEqual(whats.sort(), ['redrive-open', 'submitted']);
  }));
