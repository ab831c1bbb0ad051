import { test } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { postgresForTests } from '../services/postgres.ts';
import { checkWokenProjects } from './wakeups/woken-projects.ts';

test('M-11: a write wakes only its project, if it names one', async (t) => {
  const { url, release } = await postgresForTests();
  const store = await openPostgresStore({ url, schema: 'hf' });
  t.after(async () => {
    await store.close();
    await release();
  });
  await checkWokenProjects(store);
});
