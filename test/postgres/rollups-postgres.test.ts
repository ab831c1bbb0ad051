import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { DEFAULT_PROJECT } from '../../src/execution/names.ts';
import { Holdfast, pipeline } from '../../src/index.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { toInstant } from '../../src/support/clock.ts';
import { postgresForTests } from '../services/postgres.ts';

const WORK = pipeline({ name: 'work', run: () => undefined });

test('X-92: an end that commits after later ends is rolled up too', {
  timeout: 60_000,
}, async () => {
  const { url, release } = await postgresForTests();
  const store = await openPostgresStore({ url, schema: 'hf' });
  const late = new pg.Client(url);
  await late.connect();
  const holdfast = new Holdfast({ store });
  try {
    const { id } = await holdfast.submit('late', undefined);
    await late.query('begin');
    await late.query(
      `update hf.execution set status = 12, ready_at = null, ended_at = floor(extract(epoch from clock_timestamp()) * 1000) where id = $1`,
      [id],
    );
    await holdfast.worker({ pipelines: [WORK], reconcileMs: 3_600_000 });
    await (await holdfast.submit(WORK, undefined)).result();
    const counted = async (): Promise<number> => {
      const hour = 3_600_000;
      const { byInterval } = await store.executions.endedCounts({
        ...{ project: DEFAULT_PROJECT, stepMs: hour, intervalMs: hour },
        ...{ from: toInstant(0), to: toInstant(Number.MAX_SAFE_INTEGER) },
      });
      return byInterval.reduce((sum, { count }) => sum + count, 0);
    };
    // Rollups leave out the last second in any case.
    await pause(1_500);
    const { rows } = await late.query<{ at: string }>(
      'select floor(extract(epoch from now()) * 1000) as at',
    );
    const { until } = await store.executions.rollUp();
    assert.ok(until <= Number(rows[0]?.at), 'not beyond the start of the open transaction');
    assert.equal(await counted(), 0);
    await late.query('commit');
    await store.executions.rollUp();
    assert.equal(await counted(), 2);
  } finally {
    await late.end();
    await holdfast.close();
    await store.close();
    await release();
  }
});
