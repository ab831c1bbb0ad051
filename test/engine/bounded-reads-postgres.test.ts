import { test } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { postgresForTests } from '../services/postgres.ts';
import { BOUNDED_CASES } from './bounded-reads/cases.ts';

for (const { name, run } of BOUNDED_CASES) {
  test(name, async (t) => {
    const { url, release } = await postgresForTests();
    const store = await openPostgresStore({ url, schema: 'hf' });
    t.after(async () => {
      await store.close();
      await release();
    });
    await run(store);
  });
}
