import { after } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { postgresForTests } from '../services/postgres.ts';
import { registerRoutes } from './routes/all.ts';

const database = postgresForTests();
let schemas = 0;

registerRoutes('postgres', async () => {
  const { url } = await database;
  schemas += 1;
  return openPostgresStore({ url, schema: `routes_${schemas}` });
});

after(async () => (await database).release());
