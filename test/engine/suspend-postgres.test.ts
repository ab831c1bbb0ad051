import { after } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { postgresForTests } from '../services/postgres.ts';
import { Schemas } from '../services/postgres-schemas.ts';
import { registerSamples } from './suspend/sample.ts';

const { url, release } = await postgresForTests();
const schemas = new Schemas(url, 'suspend');

registerSamples('postgres', async () => {
  const schema = await schemas.take();
  const store = await openPostgresStore({ url, schema });
  return {
    store,
    async close() {
      await store.close();
      await schemas.giveBack(schema);
    },
  };
});

after(async () => {
  await schemas.end();
  await release();
});
