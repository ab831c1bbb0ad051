import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pipeline } from '../../engine/pipeline.ts';
import { Holdfast } from '../../index.ts';
import { openMemoryStore } from '../../store/sqlite/open-memory.ts';
import { NO_JOB_LIMITS } from '../repair/job-limits-api.ts';

test('P-18: each look for a published value, and each step along continuations, takes a share', async () => {
  const store = openMemoryStore();
  const shares: string[] = [];
  const jobLimits = {
    ...NO_JOB_LIMITS,
    begin: async (project: string) => void shares.push(project),
  };
  const holdfast = new Holdfast({ store, jobLimits });
  const counts = pipeline({
    name: 'counts',
    run: async (ctx, left: number) => (left === 0 ? 'done' : ctx.continueAsNew(left - 1)),
  });
  const worker = await holdfast.worker({ pipelines: [counts] });
  const { id } = await holdfast.submit(counts, 5);
  assert.equal(await holdfast.result(id), 'done');
  await worker.stop();
  shares.length = 0;
  assert.equal(await holdfast.published(id, 'state'), undefined);
  assert.deepEqual(shares, Array(6).fill('default'));
  const waiting = await holdfast.submit('idle', 1);
  shares.length = 0;
  assert.equal(await holdfast.published(waiting.id, 'state', { timeoutMs: 100 }), undefined);
  assert.ok(shares.length > 2, `${shares.length} looks`);
  await holdfast.close();
  await store.close();
});
