import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, watch } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import pg from 'pg';
import { type PrivatePostgres, postgresForTests, startPostgres } from './postgres.ts';
import { POSTGRES_SOURCES } from './postgres-binaries.ts';
import { isFullRun } from './tier.ts';

async function show(url: string, setting: string): Promise<string | undefined> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, string>>(`show ${setting}`);
    return rows[0]?.[setting];
  } finally {
    await client.end();
  }
}

async function execute(url: string, sql: string): Promise<number | null> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rowCount;
  } finally {
    await client.end();
  }
}

async function checkCluster(postgres: PrivatePostgres): Promise<void> {
  assert.equal(await show(postgres.url, 'fsync'), 'on');
  assert.equal(await show(postgres.url, 'synchronous_commit'), 'on');
  assert.equal(await show(postgres.url, 'server_encoding'), 'UTF8');
  await execute(postgres.url, 'create table kept as select 1 as number');
  for (const mode of ['fast', 'immediate'] as const) {
    await postgres.restart(mode);
    assert.equal(await execute(postgres.url, 'select * from kept'), 1, `rows after ${mode}`);
  }
  await postgres.stop();
  await postgres.stop();
  assert.equal(existsSync(dirname(postgres.dataDirectory)), false, 'the folder must be gone');
}

test('a private cluster is durable, restarts with its data and leaves nothing', {}, async (t) => {
  const postgres = await startPostgres({ settings: { max_connections: '20' } });
  t.after(() => postgres.stop());
  t.diagnostic(`PostgreSQL ${postgres.version} from ${postgres.source}`);
  assert.equal(await show(postgres.url, 'max_connections'), '20');
  await checkCluster(postgres);
});

/** Two of the sources fetch packages, which has no place in a run that should take seconds. */
for (const source of isFullRun() ? POSTGRES_SOURCES : []) {
  test(`binaries from ${source} make a working cluster`, async (t) => {
    const postgres = await startPostgres({ source });
    t.after(() => postgres.stop());
    assert.equal(postgres.source, source);
    await checkCluster(postgres);
  });
}

test('each caller gets its own database, and release drops it', async (t) => {
  const first = await postgresForTests();
  t.after(() => first.release());
  const second = await postgresForTests();
  t.after(() => second.release());
  await execute(first.url, 'create table mine (id int)');
  await execute(second.url, 'create table mine (id int)');
  await first.release();
  await assert.rejects(execute(first.url, 'select 1'));
});

test('the server ends and its folder is deleted when the owner is killed', async () => {
  const program = `
    import { startPostgres } from ${JSON.stringify(join(import.meta.dirname, 'postgres.ts'))};
    console.log((await startPostgres()).dataDirectory);
    await new Promise(() => setInterval(() => {}, 1000));
  `;
  const owner = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [dataDirectory] = await once(createInterface({ input: owner.stdout }), 'line');
  const folder = dirname(String(dataDirectory));
  const gone = untilGone(folder);
  owner.kill('SIGKILL');
  await gone;
});

async function untilGone(folder: string): Promise<void> {
  const watcher = watch(dirname(folder));
  try {
    await new Promise<void>((resolve) => {
      watcher.on('change', () => {
        if (!existsSync(folder)) {
          resolve();
        }
      });
    });
  } finally {
    watcher.close();
  }
}
