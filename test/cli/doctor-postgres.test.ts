// holdfast doctor and migrate on PostgreSQL.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { postgresForTests } from '../services/postgres.ts';
import { holdfast, inFolder } from './spawned.ts';

let url = '';
let release: () => Promise<void> = async () => undefined;

before(async () => {
  ({ url, release } = await postgresForTests());
});

after(() => release());

test('doctor changes nothing; migrate migrates; doctor then reports no problem', () =>
  inFolder(async (cwd) => {
    const env = { HOLDFAST_STORE: url };
    const before = await holdfast(['doctor'], { cwd, env });
    assert.equal(before.code, 0, before.out);
    assert.match(before.out, /schema +new/);
    const check = await holdfast(['migrate', '--check'], { cwd, env });
    assert.equal(check.code, 1);
    assert.equal((await holdfast(['migrate'], { cwd, env })).code, 0);
    const { code, out } = await holdfast(['doctor'], { cwd, env });
    assert.equal(code, 0, out);
    assert.match(out, /ok +fsync +on\n[\s\S]*ok +role of the server +primary[\s\S]*ok +clock/);
  }));

test('doctor: a role that does not wait for its commits does no harm, nor does it behind a pooler', () =>
  inFolder(async (cwd) => {
    // Roles belong to the server, which other tests share.
    const role = `hasty${new URL(url).pathname.replace('/', '_')}`;
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      await client.query(`create role ${role} login superuser`);
      await client.query(`alter role ${role} set synchronous_commit = off`);
      const hasty = new URL(url);
      hasty.username = role;
      const words = ['doctor', '--store', hasty.href];
      const pooled = await holdfast([...words, '--postgres-pooler', 'true'], { cwd });
      assert.match(pooled.out, /ok +synchronous_commit +off \(set to on here\)/);
      const direct = await holdfast(words, { cwd });
      assert.equal(direct.code, 0, direct.out);
    } finally {
      await client.query(`drop role if exists ${role}`);
      await client.end();
    }
  }));

test('doctor: a role that may not create the schema is reported with the grant that it needs', () =>
  inFolder(async (cwd) => {
    const database = new URL(url).pathname.slice(1);
    const role = `bare_${database}`;
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const bare = new URL(url);
    bare.username = role;
    const schema = ['--postgres-schema', 'not_there_yet'];
    const words = ['doctor', '--store', bare.href, ...schema];
    try {
      await client.query(`create role ${role} login`);
      const before = await holdfast(words, { cwd });
      assert.equal(before.code, 1, before.out);
      assert.match(before.out, /ok +server +PostgreSQL \d+\.\d+\n/);
      const [, grant = ''] =
        /rights: .*: (grant create on database \S+ to \S+;)\n/.exec(before.out) ?? [];
      const refused = await holdfast(['migrate', '--store', bare.href, ...schema], { cwd });
      assert.match(refused.problems, /permission denied for database .*run "holdfast doctor"/);
      await client.query(grant);
      const { code, out } = await holdfast(words, { cwd });
      assert.equal(code, 0, out);
      const migrated = await holdfast(['migrate', '--store', bare.href, ...schema], { cwd });
      assert.equal(migrated.code, 0, migrated.problems);
    } finally {
      await client.query(`drop owned by ${role}`).catch(() => undefined);
      await client.query(`drop role if exists ${role}`);
      await client.end();
    }
  }));

test('doctor: an unreachable server is reported without its password', () =>
  inFolder(async (cwd) => {
    const words = ['doctor', '--store', 'postgres://me:hush@127.0.0.1:1/app'];
    const { code, out } = await holdfast(words, { cwd });
    assert.equal(code, 1);
    assert.match(out, /store: .*Check that it runs/);
    assert.doesNotMatch(out, /hush/);
  }));
