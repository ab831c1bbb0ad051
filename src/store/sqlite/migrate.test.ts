import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { parseOwner, parseSessionId } from '../../lease/names.ts';
import { systemRandom } from '../../support/random.ts';
import { inspectSqliteStore } from './inspect-store.ts';
import { MIGRATIONS } from './migrate.ts';
import { openSqliteStore } from './open.ts';

test('a file of a newer build can be used if that build allows it for all of its migrations', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-sqlite-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'compatible.db');
  const known = MIGRATIONS.length;
  await (await openSqliteStore({ file })).close();
  const migrate = (version: number, mayRun: boolean) => {
    const other = new DatabaseSync(file);
    other.exec(`insert into migration values (${version}, 'later-${version}', ${mayRun ? 1 : 0})`);
    other.exec("alter table session add column of_a_later_build text default 'so'");
    other.exec(`pragma user_version = ${version}`);
    other.close();
  };
  migrate(known + 1, true);
  const store = await openSqliteStore({ file });
  const id = parseSessionId(systemRandom.uuid());
  const owner = parseOwner('somebody');
  await store.sessions.open({ id, owner, ttlMs: 10_000, graceMs: 0, metadata: {} });
  await store.close();
  const { applied, forbidding } = await inspectSqliteStore(file);
  assert.deepEqual(
    [applied.length, applied.at(-1), forbidding],
    [known + 1, `later-${known + 1}`, []],
  );
  const other = new DatabaseSync(file);
  assert.equal(other.prepare('pragma user_version').get()?.['user_version'], known + 1);
  other.exec('alter table session drop column of_a_later_build');
  other.close();
  migrate(known + 2, false);
  await assert.rejects(openSqliteStore({ file }), { code: 'store-too-new' });
  assert.deepEqual((await inspectSqliteStore(file)).forbidding, [`later-${known + 2}`]);
});
