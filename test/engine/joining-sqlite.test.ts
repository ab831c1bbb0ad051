import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { Holdfast } from '../../src/index.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { registerJoining, type User } from './joining/cases.ts';

const folder = await mkdtemp(join(tmpdir(), 'holdfast-joining-'));
const file = join(folder, 'store.db');
const store = await openSqliteStore({ file });
const holdfast = new Holdfast({ store });

after(async () => {
  await holdfast.close();
  await store.close();
  await rm(folder, { recursive: true });
});

async function connect(options: object = {}): Promise<User & { readonly client: DatabaseSync }> {
  const client = new DatabaseSync(file, { timeout: 1_000, ...options });
  client.exec('create table if not exists bought (n integer primary key)');
  return {
    client,
    run: async (sql) => client.prepare(sql === 'begin' ? 'begin immediate' : sql).all(),
    close: async () => client.close(),
  };
}

test('X-59: connections with other defaults of node:sqlite work', async () => {
  const others = {
    readBigInts: true,
    returnArrays: true,
    allowBareNamedParameters: false,
    allowUnknownNamedParameters: false,
  };
  const user = await connect(others);
  await user.run('begin');
  const handle = await holdfast.submit('order', 1, { client: user.client, key: 'defaults' });
  const again = await holdfast.submit('order', 1, { client: user.client, key: 'defaults' });
  await holdfast.signal(handle.id, { name: 'go', client: user.client });
  await user.run('commit');
  assert.deepEqual([again.id, again.existing], [handle.id, true]);
  assert.equal((await holdfast.read(handle.id))?.inboxCount, 1);
  await user.close();
});

test('X-59: a transaction that began before another write is refused, and can be rolled back', async () => {
  const user = await connect({ timeout: 0 });
  user.client.exec('begin');
  user.client.prepare('select * from bought').all();
  await holdfast.submit('order', 1);
  const late = holdfast.submit('order', 1, { client: user.client });
  await assert.rejects(late, { code: 'store-unavailable', message: /begin immediate/ });
  assert.equal(user.client.isTransaction, true);
  user.client.exec('rollback');
  await user.close();
});

test('X-59, M-11: the commit wakes other processes that have the file', async () => {
  const other = await openSqliteStore({ file });
  const woken = Promise.withResolvers<void>();
  const user = await connect();
  await user.run('begin');
  await holdfast.submit('order', 2, { client: user.client });
  other.executions.onWakeup(() => woken.resolve());
  await user.run('commit');
  await woken.promise;
  await user.close();
  await other.close();
});

test('X-59: other drivers, other files, attached files and memory stores are refused', async () => {
  const refused = (client: unknown, message: RegExp, on = holdfast): Promise<void> =>
    assert.rejects(on.submit('order', 1, { client: client as never }), {
      code: 'invalid-input',
      message,
    });
  await refused({ prepare: () => undefined, inTransaction: true }, /not a DatabaseSync/);
  await refused({ query: () => undefined }, /not a DatabaseSync/);
  const elsewhere = new DatabaseSync(join(folder, 'app.db'));
  elsewhere.exec(`attach '${file}' as holdfast`);
  elsewhere.exec('begin');
  await refused(elsewhere, /connected to ".*app\.db", and the store is ".*store\.db"/);
  elsewhere.close();
  await refused(elsewhere, /it is closed/);
  const memory = new Holdfast({ store: openMemoryStore() });
  await refused(new DatabaseSync(':memory:'), /a store in memory/, memory);
  await memory.close();
});

registerJoining({ holdfast, place: file, connect });
