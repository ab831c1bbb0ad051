import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openWorker } from '../../src/worker/open-worker.ts';
import { conformance, sampledCases, TTL_MS } from './bench.ts';
import { conformPipelines } from './pipelines.ts';

test('M-12: a worker in TypeScript passes the cases of the conformance runner', async () => {
  const cases = sampledCases('TypeScript');
  const reports = await conformance(
    ({ url, key }) =>
      openWorker({
        url,
        key,
        ttlMs: TTL_MS,
        stopGraceMs: 500,
        pipelines: conformPipelines({ url, key }),
      }),
    cases,
  );
  const failed = [...reports.values()].filter(({ ok }) => !ok);
  assert.deepEqual(
    failed.map(({ name, found }) => `${name}: ${found}`),
    [],
  );
  assert.deepEqual([...reports.keys()], ['start', ...cases]);
});
