import { after } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { postgresForTests } from '../services/postgres.ts';
import { registerHostileValues } from './hostile-values.ts';

const database = postgresForTests();
let schemas = 0;

registerHostileValues('postgres', async () => {
  const { url } = await database;
  schemas += 1;
  return openPostgresStore({ url, schema: `hostile_${schemas}` });
});

after(async () => (await database).release());
