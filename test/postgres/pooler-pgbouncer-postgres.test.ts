// A real pooler in transaction mode: the store detects its limits and works without those features.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import pg from 'pg';
import { openHoldfast } from '../../src/embedded/open-holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import { STORE_NOW_SQL } from '../../src/store/postgres/database.ts';
import { inspectPostgresStore } from '../../src/store/postgres/inspect-store.ts';
import { openPostgresStore, type PostgresStoreOptions } from '../../src/store/postgres/open.ts';
import { startPgbouncer } from '../services/pgbouncer.ts';
import { postgresForTests } from '../services/postgres.ts';

const database = postgresForTests();
after(async () => (await database).release());

/** It refuses unknown startup parameters, or was configured to ignore them. */
const POOLERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'that refuses settings': {},
  'that passes over settings': { ignore_startup_parameters: 'options,statement_timeout' },
};

/** Enough at once that clients share connections. */
async function writeThrough(options: PostgresStoreOptions): Promise<string | undefined> {
  const store = await openPostgresStore(options);
  try {
    const names = Array.from({ length: 40 }, (_, n) => `p${n}`);
    await Promise.all(
      names.map((name) => store.access.putProject({ name: name as never, settings: {} })),
    );
    const read = await Promise.all(names.map((name) => store.access.project(name as never)));
    assert.deepEqual(
      read.map((each) => each?.name),
      names,
    );
    return store.hintsReach;
  } finally {
    await store.close();
  }
}

for (const [which, settings] of Object.entries(POOLERS)) {
  describe(`a pooler ${which}`, () => {
    const pooler = database.then(({ url }) => startPgbouncer(url, settings));
    after(async () => (await pooler).stop());
    const schema = `pooled_${Object.keys(settings).length}`;
    const through = async (): Promise<PostgresStoreOptions> => ({
      url: (await pooler).url,
      schema,
    });

    test('is detected: stores that share it work, and know that they must poll', async () => {
      const options = await through();
      const both = [writeThrough(options), writeThrough({ ...options, schema: `${schema}_b` })];
      assert.deepEqual(await Promise.all(both), ['this-process', 'this-process']);
      const { url: directUrl } = await database;
      assert.equal(await writeThrough({ ...options, directUrl }), 'all-processes');
      assert.equal(await writeThrough({ ...options, pooler: true }), 'this-process');
    });

    test('is reported by doctor, with the features that it disables', async () => {
      const report = await inspectPostgresStore(await through());
      const { found, change } = report.facts.find(({ name }) => name === 'pooler') ?? {};
      assert.match(found ?? '', /^there is one; prepared statements: .*tracked.*by polling only$/);
      assert.equal(change, undefined);
    });

    test('has our settings in every transaction, also in those of one statement', async () => {
      const set = `current_setting('jit') || current_setting('plan_cache_mode') || current_setting('statement_timeout')`;
      const isSet = `${set} = 'offforce_generic_plan9s'`;
      // A statement that reads the time without them is an error.
      const nowSql = `(${STORE_NOW_SQL} / (${isSet})::integer)`;
      const options = { ...(await through()), schema: `${schema}_set`, statementTimeoutMs: 9_000 };
      const store = await openPostgresStore({ ...options, nowSql });
      const holdfast = await openHoldfast({ store });
      const adder = pipeline({
        name: 'adder',
        run: async (ctx, n: number) => ctx.step('add', () => n + 1),
      });
      try {
        await holdfast.worker({ pipelines: [adder] });
        assert.equal(await (await holdfast.submit(adder, 1)).result(), 2);
      } finally {
        await holdfast.close();
        await store.close();
      }
    });

    test('keeps none of our settings for the next user of a connection', async () => {
      const { url } = await through();
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      const { rows } = await client.query('show enable_seqscan');
      await client.end();
      assert.deepEqual(rows, [{ enable_seqscan: 'on' }]);
    });
  });
}

test('a server without a pooler is recognised', async () => {
  const { url } = await database;
  const options = { url, schema: 'direct' };
  assert.equal(await writeThrough(options), 'all-processes');
  const finding = async (more: Partial<PostgresStoreOptions>) =>
    (await inspectPostgresStore({ ...options, ...more })).facts.find(
      ({ name }) => name === 'pooler',
    );
  assert.equal((await finding({}))?.change, undefined);
  assert.match((await finding({ pooler: true }))?.change ?? '', /Remove postgres.pooler/);
});
