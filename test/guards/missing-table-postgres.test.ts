import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import pg from 'pg';
import { PostgresGuard, postgresMarks } from '../../src/guards/postgres.ts';
import { SqliteGuard } from '../../src/guards/sqlite.ts';
import { StoreUnavailable } from '../../src/support/fault.ts';
import { postgresForTests } from '../services/postgres.ts';
import { FIRST } from './fences.ts';

const fenced = { key: 'a', fence: FIRST };

function expected(next: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof StoreUnavailable, String(error));
    assert.match(error.message, next);
    assert.ok(error.cause instanceof Error, 'the error of the database is kept');
    return true;
  };
}

test('PostgreSQL guards without their table throw with the way to create it', async (t) => {
  const database = await postgresForTests();
  const pool = new pg.Pool({ connectionString: database.url, max: 2 });
  pool.on('error', () => undefined);
  t.after(async () => {
    await pool.end();
    await database.release();
  });
  const guard = new PostgresGuard({ table: 'public.marks' });
  const next =
    /table public\.marks for marks does not exist.*Run guard\.createTable once, in your migration/;
  await assert.rejects(guard.admit(pool, fenced), expected(next));
  const marks = postgresMarks(pool);
  await assert.rejects(
    marks.enter(fenced),
    expected(/table holdfast_place for marks does not exist.*marks\.createTable once/),
  );
  await pool.query(guard.createTable);
  await pool.query(marks.createTable);
  assert.equal((await guard.admit(pool, fenced)).kind, 'current');
  const answer = await marks.enter(fenced);
  assert.ok(answer.kind === 'entered');
  await answer.leave();
});

test('a SQLite guard without its table throws with the way to create it', () => {
  const database = new DatabaseSync(':memory:');
  const guard = new SqliteGuard();
  const next =
    /table holdfast_fence for marks does not exist.*Run guard\.createTable once, in your migration/;
  assert.throws(() => guard.admit(database, fenced), expected(next));
  database.exec(guard.createTable);
  assert.equal(guard.admit(database, fenced).kind, 'current');
  database.close();
});

test('other database errors are passed on unchanged', async () => {
  const other = Object.assign(new Error('permission denied'), { code: '42501' });
  const failing = { query: () => Promise.reject(other) };
  await assert.rejects(new PostgresGuard().admit(failing, fenced), (error) => error === other);
  const database = new DatabaseSync(':memory:');
  database.exec('create table holdfast_fence (resource text primary key)');
  assert.throws(() => new SqliteGuard().admit(database, fenced), /no column named fence/);
  database.close();
});
