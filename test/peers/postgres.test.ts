import { after } from 'node:test';
import { postgresForTests } from '../services/postgres.ts';
import { Schemas } from '../services/postgres-schemas.ts';
import { registerScenarios } from './register.ts';

// This comes first, so that the start of the server does not count against a case.
const { url, release } = await postgresForTests();
const schemas = new Schemas(url, 'peers');

registerScenarios({
  kind: 'postgres',
  async open() {
    const store = await schemas.store();
    return { store, close: () => store.close() };
  },
});

after(async () => {
  await schemas.end();
  await release();
});
