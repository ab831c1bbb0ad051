// Keys of one project that mean harm to each other: one for workers does nothing of an operator's, and nothing of another
// worker's.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PipelineName } from '../../src/execution/names.ts';
import { Holdfast } from '../../src/index.ts';
import type { Owner, SessionId } from '../../src/lease/names.ts';
import { pushSettingsOf } from '../../src/protocol/push/push-options.ts';
import type { Finish } from '../../src/store/contract/execution-store.ts';
import { openMemoryStore } from '../../src/store/memory/open.ts';
import { systemRandom } from '../../src/support/random.ts';
import { TestCoordinator } from './coordinator.ts';
import { RawWorker } from './raw-worker.ts';

const SHARES = [
  { lane: 'interactive', limit: 5 },
  { lane: 'batch', limit: 5 },
];

test("a worker's key is given no job of an operator, and says of none that it could run it", async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const worker = await RawWorker.open(coordinator, 'ours');
  const { session } = worker;
  for (const name of ['holdfast.job', 'holdfast.other', 'holdfast.answer', 'holdfast.replay']) {
    const pipelines = ['x', name];
    const about = { session, pipelines, state: 'ready', everyMs: 1_000, room: 1 };
    for (const [path, body] of [
      ['/v1/work/claims', { session, pipelines, shares: SHARES }],
      ['/v1/work/announcements', about],
    ] as const) {
      const { status, json } = await worker.call('POST', path, body);
      assert.deepEqual([status, json.code], [403, 'name-reserved'], `${path} of ${name}`);
    }
  }
  const pipelines = ['x', 'holdfast.answer/x', 'holdfast.replay/v1/x'];
  const claimed = await worker.call('POST', '/v1/work/claims', {
    ...{ session, pipelines, shares: SHARES },
  });
  assert.equal(claimed.status, 200, JSON.stringify(claimed.json));
});

test('a job whose end says what is no count takes no other from the list', async () => {
  const store = openMemoryStore();
  const holdfast = new Holdfast({ store });
  const input = { act: 'cancel', filter: {}, dryRun: false, by: 'ann', reason: '' };
  const session = systemRandom.uuid() as SessionId;
  const about = { owner: 'evil' as Owner, ttlMs: 60_000, graceMs: 1_000, metadata: {} };
  await store.sessions.open({ id: session, ...about });
  // As a build before this one let workers do.
  for (const body of ['{"out":{"x":1}}', '{"out":{"v":7}}', '{"out":{"v":{"seen":"all"}}}']) {
    await holdfast.submit('holdfast.job', input, { project: 'ours' });
    const pipelines = ['holdfast.job'] as PipelineName[];
    const shares = [{ lane: 'interactive', limit: 1 }] as const;
    const answer = await store.executions.claim({ session, pipelines, shares });
    assert.ok(answer.kind === 'claimed' && answer.claims[0] !== undefined);
    const { execution, fence } = answer.claims[0];
    const end = { status: 'completed', events: [{ kind: 'completed', body }] } as const;
    const owner = { id: execution.id, fence, session, seq: execution.seq + 1 };
    const finished = await store.executions.finish({ ...owner, ...end } as unknown as Finish);
    assert.equal(finished.kind, 'finished');
  }
  await holdfast.close();
  await using coordinator = await TestCoordinator.open({ store });
  const { jobs } = await coordinator.client(['operate'], 'ours');
  const { items } = await jobs.list();
  const nothing = { seen: 0, outcomes: {} };
  assert.deepEqual(
    items.map(({ seen, outcomes }) => ({ seen, outcomes })),
    [nothing, nothing, nothing],
  );
});

test("an endpoint is given nothing of the engine's own by its name", () => {
  const endpoint = { url: 'https://shop.example/', pipelines: ['order', 'holdfast.job'] };
  const signing = { keys: { k1: 'x'.repeat(32) }, current: 'k1' };
  assert.throws(
    () => pushSettingsOf({ endpoints: [endpoint], signing, allow: { hosts: ['shop.example'] } }),
    /"holdfast\.job" is the engine's own/,
  );
});
