import { after } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { postgresForTests } from '../services/postgres.ts';
import { registerBehaviours } from './register.ts';

const database = postgresForTests();
let schemas = 0;

registerBehaviours({
  kind: 'postgres',
  async open() {
    const { url } = await database;
    schemas += 1;
    const store = await openPostgresStore({ url, schema: `engine_${schemas}` });
    return { store, close: () => store.close() };
  },
});

after(async () => (await database).release());
