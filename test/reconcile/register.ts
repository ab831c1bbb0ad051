// Breaks every invariant once, and checks that it is found, and repaired or reported. Healthy rows
// stay as they are.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkEverything } from '../../contract/execution/check.ts';
import { allFindings } from '../../contract/execution/check-invariants.ts';
import { INVARIANTS, isRepairable } from '../../src/features/reconcile/model.ts';
import { BROKEN, type Broken } from './broken.ts';
import { fillWithLife } from './healthy.ts';
import type { World } from './worlds.ts';

export function registerBroken(open: () => Promise<World>): void {
  for (const broken of BROKEN) {
    test(`${broken.upholds}: ${broken.invariant}: ${broken.name}`, () => within(open, broken));
  }

  for (const broken of BROKEN.filter(({ invariant }) => isRepairable(invariant))) {
    test(`Z-4: ${broken.invariant}, found by two processes at once, is repaired once: ${broken.name}`, () =>
      atOnce(open, broken));
  }

  test('Z-1: one of these cases breaks each invariant', () => {
    const planted = new Set(BROKEN.map(({ invariant }) => invariant));
    const missing = INVARIANTS.filter(({ name }) => !planted.has(name));
    assert.deepEqual(missing, []);
  });

  test('Z-3: a store with every kind of row has no finding', async () => {
    const world = await open();
    try {
      await fillWithLife(world);
      assert.deepEqual(await allFindings(world.store), []);
      assert.deepEqual(await allFindings(world.store, { limit: 1 }), []);
    } finally {
      await world.close();
    }
  });
}

async function within(open: () => Promise<World>, broken: Broken): Promise<void> {
  const world = await open();
  const { store } = world;
  const { invariant } = broken;
  try {
    // Beside healthy rows, which stay as they are.
    await fillWithLife(world);
    const planted = await broken.plant(world);
    const dry = await allFindings(store, { dryRun: true });
    const expected = planted.found.map((each) => ({ invariant, ...each }));
    assert.deepEqual(dry.map(named), expected, 'Z-2: found');
    assert.ok(dry.every(({ repaired }) => !repaired));
    assert.deepEqual(await allFindings(store, { dryRun: true }), dry, 'Z-2: a dry run leaves it');
    const found = await allFindings(store);
    assert.deepEqual(found.map(named), expected);
    const isRepaired = isRepairable(invariant) && planted.isUnprovable !== true;
    assert.ok(
      found.every(({ repaired }) => repaired === isRepaired),
      'Z-4',
    );
    const again = await allFindings(store);
    assert.deepEqual(again, isRepaired ? [] : found, 'Z-4: once, or reported again');
    await planted.afterwards?.();
    if (isRepaired) await checkEverything(store);
  } finally {
    await world.close();
  }
}

async function atOnce(open: () => Promise<World>, broken: Broken): Promise<void> {
  const world = await open();
  const { store } = world;
  try {
    const planted = await broken.plant(world);
    const limit = 100;
    const found = await Promise.all([allFindings(store, { limit }), allFindings(store, { limit })]);
    const all = found.flat().filter((finding) => finding.repaired);
    // A sweep belongs to no store: it has ended the session for both.
    const isSwept = broken.invariant === 'overdue-not-swept';
    const repaired = isSwept ? all.slice(0, planted.found.length) : all;
    assert.equal(repaired.length, planted.isUnprovable === true ? 0 : planted.found.length);
    await planted.afterwards?.();
    if (planted.isUnprovable !== true) await checkEverything(store);
  } finally {
    await world.close();
  }
}

function named({
  repaired: _,
  since: __,
  project: ___,
  pipeline: ____,
  ...finding
}: Awaited<ReturnType<typeof allFindings>>[number]): object {
  return finding;
}
