import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pipeline } from '../../src/index.ts';
import { systemRandom } from '../../src/support/random.ts';
import { TestCoordinator } from './coordinator.ts';

const orphan = pipeline({ name: 'orphan', run: (ctx) => ctx.step('one', () => 'done') });

test('P4: what a worker left that died is claimed by the next who asks, whatever the coordinator sees to by itself', {
  timeout: 15_000,
}, async () => {
  await using coordinator = await TestCoordinator.open({ tends: false });
  const client = await coordinator.client(['submit'], 'default');
  const { id } = await client.executions.submit({ pipeline: 'orphan' });
  const authorization = `Bearer ${await coordinator.key(['work'], 'default')}`;
  const post = async (path: string, body: unknown): Promise<{ claims?: readonly object[] }> => {
    const headers = { authorization, 'content-type': 'application/json' };
    const url = `${coordinator.url}${path}`;
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    assert.ok(response.ok, await response.clone().text());
    return (await response.json()) as { claims?: readonly object[] };
  };
  const session = systemRandom.uuid();
  await post('/v1/work/sessions', { id: session, owner: 'dead', ttlMs: 300, graceMs: 0 });
  const shares = [{ lane: 'interactive', limit: 1 }];
  const claimed = await post('/v1/work/claims', { session, pipelines: ['orphan'], shares });
  assert.equal(claimed.claims?.length, 1);
  // It is never heard of again.
  await coordinator.worker([orphan]);
  assert.equal((await client.executions.result(id)).output, 'done');
});
