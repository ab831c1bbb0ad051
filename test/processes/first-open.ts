import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { NewcomerApi } from './children/newcomer.ts';
import type { Backend } from './stage/backend.ts';
import { Child } from './stage/child.ts';

const NEWCOMERS = 10;

export function registerFirstOpen(backend: Backend): void {
  describe(`the first opening of a store on ${backend.name}`, () => {
    after(() => backend.end());

    test(`T-2: ${NEWCOMERS} processes that open a new store at once all succeed, each with its own fence`, () =>
      openAtOnce(backend));
  });
}

async function openAtOnce(backend: Backend): Promise<void> {
  // Without a stage, which would open the store before they do.
  const newcomers = Array.from(
    { length: NEWCOMERS },
    () => new Child<NewcomerApi>('children/newcomer.ts'),
  );
  try {
    const store = await backend.fresh();
    await Promise.all(newcomers.map((newcomer) => newcomer.call('ready', null)));
    const fences = await Promise.all(
      newcomers.map((newcomer, index) =>
        newcomer.call('enter', { store, name: `newcomer ${index}` }),
      ),
    );
    assert.equal(new Set(fences).size, NEWCOMERS);
  } finally {
    await Promise.all(newcomers.map((newcomer) => newcomer.kill()));
  }
}
