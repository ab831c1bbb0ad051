// A wrong argument throws where it is passed, with the right form; never later, and never as a raw
// error.

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import pg from 'pg';
import { FileGuard } from '../../src/guards/files.ts';
import {
  admitAt,
  expressFence,
  fastifyFence,
  fencedFetch,
  fencedHandler,
  fencedRoute,
  memoryMarks,
  readFenced,
  verifyFence,
} from '../../src/guards/http.ts';
import { PostgresGuard, PostgresRowGuard, postgresMarks } from '../../src/guards/postgres.ts';
import { ioredis, nodeRedis, RedisGuard } from '../../src/guards/redis.ts';
import { SqliteGuard, SqliteRowGuard } from '../../src/guards/sqlite.ts';
import { InvalidInput } from '../../src/support/fault.ts';
import { FIRST } from './fences.ts';

const fenced = { key: 'a', fence: FIRST };
const marks = memoryMarks();

/** The arguments of a caller without a compiler. */
const wrong = (value?: unknown) => value as never;

interface Mistake {
  readonly made: () => unknown;
  readonly expected: RegExp;
}

function refuses(mistakes: Readonly<Record<string, Mistake>>): void {
  for (const [name, { made, expected }] of Object.entries(mistakes)) {
    test(`${name} is refused with a message that names the problem`, async () => {
      await assert.rejects(
        async () => await made(),
        (error) => {
          assert.ok(error instanceof InvalidInput, String(error));
          assert.match(error.message, expected);
          return true;
        },
      );
    });
  }
}

const handler = wrong(async () => undefined);
const headers = { headers: {} };

refuses({
  'fastifyFence({})': {
    made: () => fastifyFence(wrong({})),
    expected: /fastifyFence: `marks`.* got undefined.*\{ marks: memoryMarks\(\) \}/,
  },
  'fastifyFence()': { made: () => fastifyFence(wrong()), expected: /such as \{ marks: … \}/ },
  'a fastifyFence outside an onRoute hook': {
    made: () => fastifyFence({ marks })(wrong({})),
    expected: /addHook\('onRoute', fastifyFence/,
  },
  'expressFence({})': { made: () => expressFence(wrong({})), expected: /expressFence: `marks`/ },
  'memoryMarks that is not called': {
    made: () => expressFence({ marks: wrong(memoryMarks) }),
    expected: /`marks`.* got a function/,
  },
  'a misspelled option': {
    made: () => expressFence(wrong({ marks, resourceof: () => 'a' })),
    expected: /Did you mean "resourceOf"/,
  },
  'resourceOf that is a text': {
    made: () => expressFence({ marks, resourceOf: wrong('a') }),
    expected: /`resourceOf`.* got "a".*\(request\) =>/,
  },
  'required that is a text': {
    made: () => expressFence({ marks, required: wrong('false') }),
    expected: /`required` is true or false; got "false"/,
  },
  'fencedHandler without a handler': {
    made: () => fencedHandler(wrong({ marks }), wrong()),
    expected: /fencedHandler\(handler, \{ marks \}\)/,
  },
  'fencedRoute without a handler': {
    made: () => fencedRoute(wrong(), { marks }),
    expected: /fencedRoute\(handler, \{ marks \}\)/,
  },
  'fencedRoute({})': {
    made: () => fencedRoute(handler, wrong({})),
    expected: /fencedRoute: `marks`/,
  },
  'verifyFence without marks': {
    made: () => verifyFence(headers, wrong({})),
    expected: /verifyFence: `marks`/,
  },
  'readFenced without headers': {
    made: () => readFenced(wrong()),
    expected: /readFenced\(request\.headers\)/,
  },
  'memoryMarks with a keep that is not a function': {
    made: () => memoryMarks({ keep: wrong({}) }),
    expected: /`keep`.*guard\.admit\(pool, fenced\)/,
  },
  'fencedFetch()': { made: () => fencedFetch(wrong()), expected: /a held lease/ },
  'admitAt(lease)': {
    made: () => admitAt(wrong(fenced), wrong()),
    expected: /admitAt\(address, lease\)/,
  },
});

const pool = new pg.Pool();
const client = new pg.Client();
const guard = new PostgresGuard();
const rowGuard = new PostgresRowGuard({ table: 'invoice' });

refuses({
  'PostgresRowGuard({})': {
    made: () => new PostgresRowGuard(wrong({})),
    expected: /PostgresRowGuard: `table`.* got undefined.*\{ table: 'invoice' \}/,
  },
  'PostgresRowGuard()': { made: () => new PostgresRowGuard(wrong()), expected: /\{ table: … \}/ },
  'an invalid column': {
    made: () => new PostgresRowGuard({ table: 'a', column: 'a b' }),
    expected: /A column must be a name as in SQL/,
  },
  'PostgresGuard with a table of null': {
    made: () => new PostgresGuard({ table: wrong(null) }),
    expected: /A table must be a name as in SQL/,
  },
  'postgresMarks()': { made: () => postgresMarks(wrong()), expected: /postgresMarks\(pool\)/ },
  'postgresMarks(client)': {
    made: () => postgresMarks(wrong(client)),
    expected: /got a Client.*postgresMarks\(pool\)/,
  },
  'guard.admit(pool)': {
    made: () => guard.admit(pool, wrong()),
    expected: /; got undefined\. It should be a held lease, or \{ key: /,
  },
  'guard.admit(lease)': {
    made: () => guard.admit(wrong(fenced), wrong()),
    expected: /a pool or a client of pg; got \{ key, fence \}.*guard\.admit\(pool, lease\)/,
  },
  'guard.admit(pool, pool)': {
    made: () => guard.admit(pool, wrong(pool)),
    expected: /got a BoundPool/,
  },
  'guard.check()': {
    made: () => guard.check(wrong(), fenced),
    expected: /guard\.check\(client, lease\)/,
  },
  'guard.require(lease)': {
    made: () => guard.require(wrong(fenced), wrong()),
    expected: /guard\.require\(client, lease\)/,
  },
  'a row whose id is undefined': {
    made: () => rowGuard.update(pool, fenced, { set: {}, where: { id: undefined } }),
    expected: /`where\.id` is undefined.*Nothing was sent/,
  },
  'a row whose id is null': {
    made: () => rowGuard.admit(pool, fenced, { id: null }),
    expected: /`where\.id` is null/,
  },
  'a column set to undefined': {
    made: () => rowGuard.update(pool, fenced, { set: { state: undefined }, where: { id: 1 } }),
    expected: /`set\.state` is undefined.*null/,
  },
  'an update without where': {
    made: () => rowGuard.update(pool, fenced, wrong({ set: {} })),
    expected: /`where`.*\{ id: /,
  },
  'an update without set': {
    made: () => rowGuard.update(pool, fenced, wrong({ where: { id: 1 } })),
    expected: /`set`.*\{ state: /,
  },
  'an update with another name': {
    made: () => rowGuard.update(pool, fenced, wrong({ set: {}, were: { id: 1 } })),
    expected: /PostgresRowGuard\.update: .*Did you mean "where"/,
  },
  'a row’s admit without a connection': {
    made: () => rowGuard.admit(wrong(fenced), wrong({ id: 1 }), wrong()),
    expected: /guard\.admit\(pool, lease, \{ id \}\)/,
  },
});

const database = new DatabaseSync(':memory:');

refuses({
  'SqliteRowGuard({})': {
    made: () => new SqliteRowGuard(wrong({})),
    expected: /SqliteRowGuard: `table`/,
  },
  'SqliteGuard.admit(database)': {
    made: () => new SqliteGuard().admit(database, wrong()),
    expected: /a held lease/,
  },
  'SqliteGuard.admit(lease)': {
    made: () => new SqliteGuard().admit(wrong(fenced), wrong()),
    expected: /guard\.admit\(database, lease\)/,
  },
  'SqliteGuard.check(lease)': {
    made: () => new SqliteGuard().check(wrong(fenced), wrong()),
    expected: /guard\.check\(database, lease\)/,
  },
  'SqliteRowGuard.admit(lease)': {
    made: () => new SqliteRowGuard({ table: 'a' }).admit(wrong(fenced), wrong(), wrong()),
    expected: /guard\.admit\(database, lease, \{ id \}\)/,
  },
});

const redisGuard = new RedisGuard(async () => ['written']);

refuses({
  'RedisGuard()': {
    made: () => new RedisGuard(wrong()),
    expected: /new RedisGuard\(nodeRedis\(client\)\)/,
  },
  'RedisGuard({})': { made: () => new RedisGuard(wrong({})), expected: /got \{\}.*nodeRedis/ },
  'RedisGuard with a markKey that is a text': {
    made: () => new RedisGuard(async () => [], { markKey: wrong('mark') }),
    expected: /`markKey`.*\(resource\) =>/,
  },
  'nodeRedis()': { made: () => nodeRedis(wrong()), expected: /nodeRedis\(client\)/ },
  'ioredis({})': { made: () => ioredis(wrong({})), expected: /ioredis\(client\)/ },
  'RedisGuard.admit(client)': {
    made: () => redisGuard.admit(wrong({ eval: () => undefined })),
    expected: /a held lease/,
  },
  'RedisGuard.write(lease)': {
    made: () => redisGuard.write(fenced, wrong()),
    expected: /guard\.write\(lease, \[\['set', /,
  },
  'one command instead of a list of them': {
    made: () => redisGuard.write(fenced, wrong(['set', 'a', 'b'])),
    expected: /A command must be its name/,
  },
});

const folder = mkdtempSync(join(tmpdir(), 'holdfast-guard-arguments-'));
const file = new FileGuard(join(folder, 'report'));

after(async () => {
  await file.close();
  rmSync(folder, { recursive: true });
});

refuses({
  'FileGuard()': {
    made: () => new FileGuard(wrong()),
    expected: /new FileGuard\('report\.jsonl'\)/,
  },
  'FileGuard with an empty path': { made: () => new FileGuard(''), expected: /got ""/ },
  'FileGuard in a folder that is not there': {
    made: () => new FileGuard(join(folder, 'absent', 'report')),
    expected: /absent" does not exist.*mkdir/,
  },
  'FileGuard in a folder that is a file': {
    made: () => new FileGuard(join(process.execPath, 'report')),
    expected: /is not a folder/,
  },
  'FileGuard.within without an effect': {
    made: () => file.within(fenced, wrong()),
    expected: /guard\.within\(lease, async \(\) =>/,
  },
  'FileGuard.append without bytes': {
    made: () => file.append(fenced, wrong()),
    expected: /guard\.append\(lease, /,
  },
  'FileGuard.replace with an object': {
    made: () => file.replace(fenced, wrong({})),
    expected: /guard\.replace\(lease, /,
  },
});

test('a refused call writes nothing', () => {
  assert.deepEqual(readdirSync(folder), ['report.fence']);
});

test('correct arguments pass', async () => {
  database.exec('create table invoice (id text primary key, state text, fence integer default 0)');
  database.exec("insert into invoice (id, state) values ('7', 'open')");
  const sqlite = new SqliteRowGuard({ table: 'invoice', column: 'fence' });
  const change = { set: { state: null }, where: { id: '7' } };
  const written = { kind: 'written', rows: 1 };
  assert.deepEqual(sqlite.admit(database, fenced, { id: '7' }), written);
  assert.deepEqual(sqlite.update(database, fenced, change), written);

  const sent: unknown[] = [];
  const query = async (text: string, values: unknown[]) => {
    sent.push(text, values);
    return { rows: [], rowCount: 1 };
  };
  assert.deepEqual(await rowGuard.update({ query }, fenced, change), written);
  const text = 'update invoice set state = $1, fence = $2 where id = $3 and fence <= $2';
  assert.deepEqual(sent, [text, [null, FIRST, '7']]);

  const set = await redisGuard.write(fenced, [['set', 'a', 'b']]);
  assert.equal(set.kind, 'written');
  assert.equal((await file.append(fenced, new Uint8Array(1))).kind, 'written');
  assert.doesNotThrow(() => expressFence({ marks, required: false, resourceOf: () => 'a' }));
});
