import { test } from 'node:test';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { checkWokenProjects } from './wakeups/woken-projects.ts';

test('M-11: a write wakes only its project, if it names one', async () => {
  const store = openMemoryStore();
  await checkWokenProjects(store);
  await store.close();
});
