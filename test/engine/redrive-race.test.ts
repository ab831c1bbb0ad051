// An execution can end between the read that plans its re-drive and the write.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OperationRefused } from '../../src/engine/failures.ts';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { door } from './stage.ts';

test('a re-drive that was planned while its execution ran is refused', async () => {
  const memory = openMemoryStore();
  const { executions } = memory;
  const [begun, planned, ended] = [door(), door(), door()];
  const store = {
    ...memory,
    executions: {
      ...executions,
      redrive: async (request: Parameters<typeof executions.redrive>[0]) => {
        planned.open();
        await ended.passed;
        return executions.redrive(request);
      },
    },
  };
  let runs = 0;
  const work = pipeline({
    name: 'work',
    run: (ctx) =>
      ctx.step('once', async () => {
        runs += 1;
        begun.open();
        await planned.passed;
      }),
  });
  const holdfast = new Holdfast({ store });
  await holdfast.worker({ pipelines: [work] });
  const handle = await holdfast.submit(work, undefined);
  await begun.passed;
  const redriven = holdfast.repair.redrive(handle.id).finally(planned.open);
  const refused = assert.rejects(redriven, (fault) => {
    assert.ok(fault instanceof OperationRefused);
    assert.equal(fault.code, 'not-ended');
    return true;
  });
  await handle.result();
  ended.open();
  await refused;
  assert.equal(runs, 1);
  await holdfast.close();
  await memory.close();
});
