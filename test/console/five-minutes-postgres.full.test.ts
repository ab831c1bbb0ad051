import { after, test } from 'node:test';
import { postgresForTests } from '../services/postgres.ts';
import { playFiveMinutes, SCRIPT } from './browser/five-minutes.ts';

const database = postgresForTests();

test(`on PostgreSQL: ${SCRIPT}`, async () => {
  const { url } = await database;
  await playFiveMinutes('five-minutes-postgres', ['--store', url]);
});

after(async () => (await database).release());
