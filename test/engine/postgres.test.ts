import { after } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { postgresForTests } from '../services/postgres.ts';
import { Schemas } from '../services/postgres-schemas.ts';
import { registerBehaviours } from './register.ts';

// First of all: a case has its time for itself, however long the server takes to start.
const { url, release } = await postgresForTests();
const schemas = new Schemas(url, 'engine');

registerBehaviours({
  kind: 'postgres',
  async open() {
    const schema = await schemas.take();
    const store = await openPostgresStore({ url, schema });
    return {
      store,
      async close() {
        await store.close();
        await schemas.giveBack(schema);
      },
    };
  },
});

after(async () => {
  await schemas.end();
  await release();
});
