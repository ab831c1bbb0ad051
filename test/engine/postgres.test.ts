import { after } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { postgresForTests } from '../services/postgres.ts';
import { registerBehaviours } from './register.ts';

// First of all: a case has its time for itself, however long the server takes to start.
const { url, release } = await postgresForTests();
let schemas = 0;

registerBehaviours({
  kind: 'postgres',
  async open() {
    schemas += 1;
    const store = await openPostgresStore({ url, schema: `engine_${schemas}` });
    return { store, close: () => store.close() };
  },
});

after(release);
