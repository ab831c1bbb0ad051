// A disk that is full for longer than sessions live. Acknowledged writes stay, failed writes are
// reported as failed, and executions continue by themselves when there is space again.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import pg from 'pg';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { Connection } from '../../src/store/sqlite/connection.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { StoreUnavailable } from '../../src/support/fault.ts';
import { postgresForTests } from '../services/postgres.ts';
import { pause } from './stage.ts';

const EXECUTIONS = 40;
const TTL_MS = 600;

interface Disk {
  readonly store: CoordinatorStore;
  fill(): Promise<void>;
  free(): Promise<void>;
  close(): Promise<void>;
}

/** SQLite's own page limit plays the disk: no page can be added. */
async function sqliteDisk(t: TestContext): Promise<Disk> {
  const connections = new Set<Connection>();
  const { run } = Connection.prototype;
  t.mock.method(
    Connection.prototype,
    'run',
    function (this: Connection, sql: string, parameters = {}) {
      connections.add(this);
      return run.call(this, sql, parameters);
    },
  );
  const folder = await mkdtemp(join(tmpdir(), 'hf-full-'));
  const store = await openSqliteStore({ file: join(folder, 'hf.db') });
  const limit = async (pages: number): Promise<void> => {
    for (const each of connections) each.all(`pragma max_page_count = ${pages}`, {});
  };
  return {
    store,
    fill: () => limit(1),
    free: () => limit(2 ** 30),
    async close() {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const { url, release } = await postgresForTests();
after(release);

/** The error of PostgreSQL when a table cannot grow (53100), for every write. */
async function postgresDisk(): Promise<Disk> {
  const schema = 'full_disk';
  const store = await openPostgresStore({ url, schema });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`create function ${schema}.no_space() returns trigger language plpgsql as $$
    begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$`);
  const tables = ['execution', 'history', 'session', 'inbox'];
  const each = async (sqlOf: (table: string) => string): Promise<void> => {
    for (const table of tables) await client.query(sqlOf(`${schema}.${table}`));
  };
  return {
    store,
    fill: () =>
      each(
        (table) =>
          `create trigger full_disk before insert or update on ${table} execute function ${schema}.no_space()`,
      ),
    free: () => each((table) => `drop trigger full_disk on ${table}`),
    async close() {
      await client.end();
      await store.close();
    },
  };
}

for (const [kind, open] of [
  ['sqlite', sqliteDisk],
  ['postgres', postgresDisk],
] as const) {
  test(`${kind}: P3: executions continue by themselves after the disk was full`, {
    timeout: 60_000,
  }, async (t) => {
    const { store, fill, free, close } = await open(t);
    const holdfast = new Holdfast({ store });
    t.after(async () => {
      await holdfast.close();
      await close();
    });
    const fences = new Map<string, number[]>();
    let begun = 0;
    const working = pipeline({
      name: 'working',
      async run(ctx, n: number) {
        for (const name of ['first', 'second', 'third']) {
          await ctx.step(name, async ({ fence, idempotencyKey }) => {
            begun += 1;
            fences.set(idempotencyKey, [...(fences.get(idempotencyKey) ?? []), fence]);
            await pause(5);
            return 'x'.repeat(500);
          });
          await ctx.sleep(20);
        }
        return n;
      },
    });
    await holdfast.worker({ pipelines: [working], pollMs: 50, ttlMs: TTL_MS, concurrency: 10 });
    const handles = await Promise.all(
      Array.from({ length: EXECUTIONS }, (_, n) =>
        holdfast.submit(working, n, { key: `working/${n}` }),
      ),
    );
    while (begun < EXECUTIONS / 2) await pause(5);
    await fill();
    let acknowledged = 0;
    const asked = holdfast.submit('other', 'x'.repeat(200_000)).then(
      () => {
        acknowledged += 1;
      },
      (fault: unknown) => {
        // The store itself may repeat the write for a while. No caller gets a success.
        assert.ok(fault instanceof StoreUnavailable, String(fault));
        assert.match(fault.message, /full|No space left/);
      },
    );
    await pause(3 * TTL_MS);
    assert.equal(acknowledged, 0);
    await free();
    const outputs = await Promise.all(handles.map(({ result }) => result()));
    assert.deepEqual(
      outputs,
      handles.map((_, n) => n),
    );
    for (const { id } of handles) {
      const kinds = (await holdfast.history(id)).map((event) => event.kind);
      assert.equal(kinds.filter((each) => each === 'step-completed').length, 3);
      assert.equal(kinds.filter((each) => each === 'completed').length, 1);
    }
    for (const each of fences.values())
      assert.deepEqual(
        each,
        each.toSorted((a, b) => a - b),
      );
    await asked;
    const { items } = await holdfast.list({ pipeline: 'other' });
    assert.equal(items.length, acknowledged);
  });
}
