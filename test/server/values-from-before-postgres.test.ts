import { after } from 'node:test';
import pg from 'pg';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { postgresForTests } from '../services/postgres.ts';
import { registerValuesFromBefore } from './values-from-before.ts';

const database = postgresForTests();
let schemas = 0;

registerValuesFromBefore('postgres', async () => {
  const { url } = await database;
  schemas += 1;
  const schema = `before_${schemas}`;
  const store = await openPostgresStore({ url, schema, connectionsMax: 4 });
  const older = new pg.Client({ connectionString: url });
  await older.connect();
  const put = `
    insert into ${schema}.blob (digest, at, bytes)
    values ($1, $2, $3)
        on conflict (digest) do nothing`;
  return {
    store,
    async putAsBefore({ digest, bytes }, agoMs) {
      await older.query(put, [digest, Date.now() - agoMs, Buffer.from(bytes)]);
    },
    async close() {
      await older.end();
      await store.close();
    },
  };
});

after(async () => (await database).release());
