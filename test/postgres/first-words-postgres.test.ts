// The errors for a wrong URL: known not done, and what to check.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { postgresForTests } from '../services/postgres.ts';

const database = postgresForTests();
after(async () => (await database).release());

test('a host that does not exist is "cannot be reached", never "may have been done"', async () => {
  await assert.rejects(openPostgresStore({ url: 'postgres://nobody@nosuch.invalid/app' }), {
    name: 'StoreUnavailable',
    message: /cannot be reached .* Nothing was changed/,
  });
});

test('a database that does not exist is named in the error, with the command to create it', async () => {
  const { url } = await database;
  const elsewhere = new URL(url);
  elsewhere.pathname = '/no_such_database';
  await assert.rejects(openPostgresStore({ url: elsewhere.href }), {
    name: 'StoreUnavailable',
    message:
      'PostgreSQL does not have the database (database "no_such_database" does not exist). Nothing was changed. Create it (createdb no_such_database), or change the database in the URL.',
  });
});
