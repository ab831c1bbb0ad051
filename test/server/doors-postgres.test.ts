import { after } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { postgresForTests } from '../services/postgres.ts';
import { registerForeignDoors } from './foreign-doors.ts';

const database = postgresForTests();

registerForeignDoors('postgres', async () => {
  const { url } = await database;
  return openPostgresStore({ url, schema: 'doors' });
});

after(async () => (await database).release());
