import { after } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { postgresForTests } from '../services/postgres.ts';
import { OTHER_CASES } from './browser/cases.ts';
import { PAGE_CASES } from './browser/pages.ts';
import { registerBrowser } from './browser/register.ts';

const database = postgresForTests();

registerBrowser('postgres', [...PAGE_CASES, ...OTHER_CASES], async () => {
  const { url } = await database;
  return openPostgresStore({ url, schema: 'console' });
});

after(async () => (await database).release());
