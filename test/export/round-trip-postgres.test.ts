// From SQLite to PostgreSQL and back: no row is lost, and every execution continues.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkEverything } from '../../contract/execution/check.ts';
import { mustAcquire, openedSession, textOf } from '../../contract/lease/opened-session.ts';
import { openStore } from '../../src/embedded/open-store.ts';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { EXPORTED_TABLES } from '../../src/features/export/rows.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { postgresForTests } from '../services/postgres.ts';
import { allRows, expectEqual, exportAndImport, exported, type Place } from './exported.ts';
import { ALL, bank, fill, PIPELINES, RELEASE, RELEASED, type Rich } from './rich-store.ts';

test('EX-5, EX-8: SQLite to PostgreSQL to SQLite: every kind of row arrives unchanged, and executions continue', {
  timeout: 240_000,
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-export-'));
  const { url, release } = await postgresForTests();
  try {
    const first = { store: join(folder, 'first.db') };
    const server = { store: url, postgres: { schema: 'imported' } };
    const last = { store: join(folder, 'last.db') };
    const store = await openStore(first.store);
    const rich = await fill(store);
    await store.close();
    assert.equal(await exportAndImport(first, server, join(folder, 'a.ndjson')), 2);
    const before = await allRows(first);
    for (const { name } of EXPORTED_TABLES) {
      const isMade = (before.tables.get(name)?.length ?? 0) > 0;
      assert.ok(isMade || RARE.includes(name), `the test has no row of "${name}"`);
    }
    await checkOn(server);
    assert.equal(await exportAndImport(server, last, join(folder, 'b.ndjson.gz')), 3);
    expectEqual(await allRows(server), before);
    await checkOn(last);
    await goesOn(last, rich, before.counters.fence);
    await exported(last, join(folder, 'c.ndjson'));
  } finally {
    await release();
    await rm(folder, { recursive: true, force: true });
  }
});

/** Rows that only time or bad luck creates; the random stores have them. */
const RARE: readonly string[] = ['flap', 'errand', 'refused_write'];

async function checkOn({ store, postgres }: Place): Promise<void> {
  const opened = await openStore(store, postgres);
  await checkEverything(opened);
  await opened.close();
}

/**
 * On the last store: waiting executions get answers, wake and resume, running ones run again, and
 * fences are higher.
 */
async function goesOn(place: Place, rich: Rich, fence: number): Promise<void> {
  const store = await openStore(place.store, place.postgres);
  try {
    await leasesGoOn(store, fence);
    await executionsGoOn(store, rich);
    await checkEverything(store);
  } finally {
    await store.close();
  }
}

async function leasesGoOn(store: CoordinatorStore, fence: number): Promise<void> {
  const ben = await openedSession(store, 'ben');
  const { predecessor, checkpoint, intents, fence: next } = await mustAcquire(store, ben);
  assert.ok(next > fence, 'EX-8: above every fence of the old store');
  assert.deepEqual([predecessor.exit, predecessor.owner], ['revoked', 'ann']);
  assert.equal(textOf(checkpoint?.bytes), 'state 2');
  assert.deepEqual(
    intents.map(({ effect }) => effect),
    ['charge'],
  );
}

async function executionsGoOn(store: CoordinatorStore, rich: Rich): Promise<void> {
  const holdfast = new Holdfast({ store });
  try {
    await pinnedGoesOn(holdfast, rich);
    await waitingGoesOn(holdfast, rich);
    await heldGoesOn(holdfast, rich);
  } finally {
    await holdfast.close();
  }
}

/** Pinned to the same release, with the same facts in the new store. */
async function pinnedGoesOn(holdfast: Holdfast, { pinned }: Rich): Promise<void> {
  const [known] = await holdfast.releases.list('released');
  assert.deepEqual([known?.name, known?.state, known?.pinned], ['v1', 'active', 1]);
  await holdfast.worker({ pipelines: [RELEASED], release: RELEASE, pollMs: 50 });
  assert.equal(await holdfast.result(pinned), 2);
}

async function waitingGoesOn(holdfast: Holdfast, rich: Rich): Promise<void> {
  const { store } = holdfast;
  bank.isUp = true;
  await holdfast.worker({ pipelines: ALL, pollMs: 50 });
  for (const id of [rich.acquiring, rich.answeredEarly]) {
    await holdfast.awaits.answer(
      { execution: id, name: 'approval' },
      { ok: true },
      { actor: 'ben' },
    );
    assert.equal(((await holdfast.result(id)) as { kind: string }).kind, 'answered');
  }
  assert.equal(await holdfast.result(rich.sleeping), 'awake');
  const slept = await store.executions.read(rich.sleeping as never);
  assert.ok((slept?.endedAt ?? 0) >= (slept?.submittedAt ?? 0) + rich.sleepMs);
  assert.equal(await holdfast.result(rich.album), 'awake');
  await holdfast.signal(rich.trip, { name: 'travelled', value: 'far' });
  assert.equal(await holdfast.result(rich.trip), 'far');
}

async function heldGoesOn(holdfast: Holdfast, rich: Rich): Promise<void> {
  const { store } = holdfast;
  assert.equal(await holdfast.result(rich.running), 'charged');
  const ran = await store.executions.read(rich.running as never);
  assert.equal(ran?.claimsWithoutProgress, 0, 'EX-3: the export does not count against it');
  assert.equal(await holdfast.result(rich.delayed), 16);
  await holdfast.resume(rich.paused);
  assert.equal(await holdfast.result(rich.paused), 12);
  assert.equal(await holdfast.result(rich.behind), 14);
  const { id } = await holdfast.submit(
    PIPELINES.plain,
    { n: 1 },
    {
      key: 'plain/1',
      tags: ['vip', 'späť'],
      attributes: { region: 'eu', amount: 12.5, whole: 7, isNew: true, isOld: false },
    },
  );
  const { items } = await holdfast.list({ tag: 'vip', attribute: { name: 'whole', equals: 7 } });
  assert.deepEqual(
    items.map((each) => each.id),
    [id],
    'the key leads to the same execution',
  );
  assert.deepEqual(await holdfast.attachments(id).then((all) => all.map(({ name }) => name)), [
    'note.txt',
    'raw.bin',
  ]);
}
