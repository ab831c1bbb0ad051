// While two projects send requests, one project has a bounded number of them under way, however it reaches the
// coordinator (P-18).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { systemClock } from '../../src/support/clock.ts';
import { TestCoordinator } from './coordinator.ts';
import { RawWorker } from './raw-worker.ts';

const SHARE = 8;
const SENT = 20;

/** A store whose heartbeats of one owner wait until the test lets them through. */
class SlowHeartbeats {
  readonly waiting: (() => void)[] = [];

  over(store: CoordinatorStore): CoordinatorStore {
    const { sessions } = store;
    const heartbeat: typeof sessions.heartbeat = async (request) => {
      if (request.owner === 'hostile') await new Promise<void>((pass) => this.waiting.push(pass));
      return sessions.heartbeat(request);
    };
    return { ...store, sessions: { ...sessions, heartbeat } };
  }

  async until(count: number): Promise<void> {
    while (this.waiting.length < count) await turn();
    // Others would come within these turns.
    for (let nth = 0; nth < 50; nth += 1) await turn();
  }
}

test('P-18: a project has at most its share of requests under way while another is active', async () => {
  const slow = new SlowHeartbeats();
  await using coordinator = await TestCoordinator.open({
    store: slow.over(openMemoryStore()),
    // Time stands still: no project falls silent on a busy machine.
    clock: { ...systemClock, monotonicMs: () => 0 },
    tends: false,
  });
  const hostile = await RawWorker.open(coordinator, 'hostile');
  const healthy = await RawWorker.open(coordinator, 'healthy');
  const beat = (who: RawWorker, owner: string) =>
    who.call('POST', `/v1/work/sessions/${who.session}/heartbeat`, { owner });
  const beats = Array.from({ length: SENT }, () => beat(hostile, 'hostile'));
  // No healthy request waits for the other project.
  assert.equal((await healthy.call('POST', '/v1/executions', { pipeline: 'x' })).status, 202);
  await slow.until(SHARE);
  assert.equal(slow.waiting.length, SHARE);
  for (let passed = 0; passed < SENT; passed += 1) {
    await slow.until(1);
    assert.equal((await healthy.call('POST', '/v1/executions', { pipeline: 'x' })).status, 202);
    slow.waiting.shift()?.();
  }
  const answers = await Promise.all(beats);
  assert.equal(answers.length, SENT);
});
