// A process that pauses during a migration, on a busy machine, still finishes it. Workers may pause inside a transaction
// for two seconds only.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { postgresForTests } from '../services/postgres.ts';

const PAUSE_MS = 2_500;

test('a migration survives a pause that would end a transaction of a worker', async (t) => {
  const { url, release } = await postgresForTests();
  t.after(release);
  const { query } = pg.Client.prototype;
  t.mock.method(pg.Client.prototype, 'query', async function (this: pg.Client, ...given: never[]) {
    const [text] = given as readonly unknown[];
    if (typeof text === 'string' && text.includes('create table if not exists'))
      await pause(PAUSE_MS);
    return Reflect.apply(query, this, given);
  });
  const store = await openPostgresStore({ url, schema: 'slow' });
  assert.equal(store.kind, 'postgres');
  await store.close();
});
