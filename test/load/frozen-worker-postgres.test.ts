// P1: a worker that is frozen past its ttl finds its executions taken over when it wakes. The store
// refuses its late writes, and their history has none of them.

import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type pg from 'pg';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { until } from '../processes/stage/until.ts';
import { postgresForTests } from '../services/postgres.ts';
import { recoveryBoundMs } from '../services/recovery-bound.ts';
import { Fleet } from './fleet.ts';
import { child, spawning } from './spawning.ts';

const FREEZES = join(import.meta.dirname, 'children/freezes-in-commit.ts');

const database = postgresForTests();
after(async () => (await database).release());

const EXECUTIONS = 10;

test('P1: the writes of a frozen worker are refused after it was replaced', async () => {
  const { url } = await database;
  const place = { kind: 'postgres', url, schema: 'frozen' } as const;
  const fleet = await Fleet.open(() => place, { ttlMs: 1_000 });
  try {
    // Its first steps end after another worker has replaced it.
    await fleet.start('frozen', { stepMs: 400 });
    const ids = await fleet.submitWithoutWaiting(EXECUTIONS);
    await fleet.untilAll(ids, ({ status }) => status === 'running');
    fleet.signal('frozen', 'SIGSTOP');
    await fleet.start('successor');
    await fleet.untilAll(ids, ({ status }) => status === 'completed');
    fleet.signal('frozen', 'SIGCONT');
    // It is healthy again when it completes a new execution.
    const [last] = await fleet.submitWithoutWaiting(1);
    assert.ok(last !== undefined);
    await fleet.end('successor', 'SIGTERM');
    await fleet.untilAll([last], ({ status }) => status === 'completed');
    for (const id of ids) {
      const history = await fleet.holdfast.history(id);
      const fences = history.flatMap(({ fence }) => fence ?? []);
      assert.deepEqual(
        fences,
        [...fences].sort((a, b) => a - b),
        'effects are in the order of fences',
      );
      assert.equal(history.filter(({ kind }) => kind === 'completed').length, 1);
      const names = history.flatMap(({ kind, name }) => (kind === 'step-completed' ? [name] : []));
      assert.deepEqual(names, ['one', 'two', 'three']);
    }
  } finally {
    await fleet.close();
  }
});

const TTL_MS = 2_000;

test('P4: the execution of a worker that froze inside a transaction is taken over in time', async (t) => {
  const { url } = await database;
  const schema = 'frozen_inside';
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-frozen-'));
  const frozenFile = join(folder, 'frozen');
  const store = await openPostgresStore({ url, schema });
  const holdfast = new Holdfast({ store });
  const frozen = fork(FREEZES, [url, schema, frozenFile, String(TTL_MS)]);
  t.after(async () => {
    frozen.kill('SIGKILL');
    await holdfast.close();
    await store.close();
    await rm(folder, { recursive: true });
  });
  const { id } = await holdfast.submit('spawning', undefined);
  await until('the worker is frozen', () => existsSync(frozenFile));
  await holdfast.worker({ pipelines: [spawning(() => undefined), child] });
  const signal = AbortSignal.timeout(recoveryBoundMs(TTL_MS));
  assert.equal(await holdfast.result(id, { signal }), 'done');
});

test('the work of ctx.transaction may pause for 15 s between two statements', async (t) => {
  const { url } = await database;
  const store = await openPostgresStore({ url, schema: 'paused_inside' });
  const holdfast = new Holdfast({ store });
  t.after(() => holdfast.close().then(() => store.close()));
  const code = pipeline({
    name: 'pausing',
    run: (ctx) =>
      ctx.transaction('ask', async (connection) => {
        const { query } = connection as unknown as Pick<pg.ClientBase, 'query'>;
        const { rows } = await query('show idle_in_transaction_session_timeout');
        return rows[0].idle_in_transaction_session_timeout as string;
      }),
  });
  await holdfast.worker({ pipelines: [code] });
  assert.equal(await (await holdfast.submit(code, undefined)).result(), '15s');
});
