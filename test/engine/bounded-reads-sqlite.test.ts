import { test } from 'node:test';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { BOUNDED_CASES } from './bounded-reads/cases.ts';

for (const { name, run } of BOUNDED_CASES) {
  test(name, async () => {
    const store = openMemoryStore();
    await run(store);
    await store.close();
  });
}
