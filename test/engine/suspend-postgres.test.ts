import { after } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { postgresForTests } from '../services/postgres.ts';
import { registerSamples } from './suspend/sample.ts';

const database = postgresForTests();
let schemas = 0;

registerSamples('postgres', async () => {
  const { url } = await database;
  schemas += 1;
  const store = await openPostgresStore({ url, schema: `suspend_${schemas}` });
  return { store, close: () => store.close() };
});

after(async () => (await database).release());
