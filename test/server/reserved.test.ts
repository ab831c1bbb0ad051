import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Holdfast, pipeline } from '../../src/index.ts';
import { refusedWith, TestCoordinator } from './coordinator.ts';

const idle = pipeline({ name: 'idle', run: () => 1 });

test('a job belongs to its own project, whatever its input names', async () => {
  await using coordinator = await TestCoordinator.open();
  const { store } = coordinator;
  const holdfast = new Holdfast({ store });
  const theirs = await holdfast.submit(idle, 1, { project: 'theirs' });
  const input = {
    act: 'cancel',
    filter: { project: 'theirs' },
    dryRun: false,
    by: 'x',
    reason: '',
  };
  const job = await holdfast.submit('holdfast.job', input, { project: 'ours' });
  assert.deepEqual(await job.result(), { seen: 0, outcomes: {} });
  assert.equal((await holdfast.read(theirs.id))?.status, 'queued');
  const filter = { project: 'theirs', pipeline: 'idle', release: null };
  const moving = { ...input, act: 'move', filter, to: 'v1' };
  const move = await holdfast.submit('holdfast.move', moving, { project: 'ours' });
  assert.deepEqual(await move.result(), { seen: 0, outcomes: {} });
  await holdfast.close();
});

test("the engine's own pipelines and signals are reachable by their own routes only", async () => {
  await using coordinator = await TestCoordinator.open();
  const client = await coordinator.client(['submit', 'operate'], 'ours');
  await assert.rejects(
    client.executions.submit({ pipeline: 'holdfast.job', input: {} }),
    refusedWith('name-reserved', 403),
  );
  const { id } = await client.executions.submit({ pipeline: 'idle' });
  await assert.rejects(
    client.executions.signal(id, 'holdfast.undo', { act: 'skip', step: 's', reason: 'r' }),
    refusedWith('name-reserved', 403),
  );
  assert.deepEqual(
    (await client.executions.history(id)).map(({ kind }) => kind),
    ['submitted'],
  );
});
