import { after } from 'node:test';
import { postgresForTests } from '../services/postgres.ts';
import { Schemas } from '../services/postgres-schemas.ts';
import { registerSamples } from './suspend/sample.ts';

const { url, release } = await postgresForTests();
const schemas = new Schemas(url, 'suspend');

registerSamples('postgres', async () => {
  const store = await schemas.store();
  return { store, close: () => store.close() };
});

after(async () => {
  await schemas.end();
  await release();
});
