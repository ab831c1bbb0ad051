import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { openTestHoldfast } from '../../contract/testing/test-holdfast.ts';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { pause } from './stage.ts';

test('overdue sessions that may not expire yet do not make a worker claim without end', async () => {
  const memory = openMemoryStore();
  let claims = 0;
  const store = {
    ...memory,
    executions: {
      ...memory.executions,
      claim: async (request: Parameters<typeof memory.executions.claim>[0]) => {
        claims += 1;
        const answer = await memory.executions.claim(request);
        return answer.kind === 'claimed' ? { ...answer, overdue: true } : answer;
      },
    },
  };
  const holdfast = new Holdfast({ store });
  await holdfast.worker({ pipelines: [pipeline({ name: 'x', run: () => 1 })], pollMs: 50 });
  await pause(300);
  await holdfast.close();
  await store.close();
  assert.ok(claims < 50, `it asked ${claims} times in six polls`);
});

test('a worker whose claims are refused pauses between them, even when its announcement is due', async () => {
  const clock = new ManualClock();
  const memory = openMemoryStore({ clock });
  let claims = 0;
  const store = {
    ...memory,
    executions: {
      ...memory.executions,
      claim: async () => {
        claims += 1;
        return { kind: 'refused', why: 'session-not-live' } as const;
      },
    },
  };
  const holdfast = new Holdfast({
    store,
    clock,
    timers: clock.timers,
    observer: { report: () => undefined },
  });
  const release = { name: 'r1', digest: 'd1' };
  await holdfast.worker({ pipelines: [pipeline({ name: 'x', run: () => 1 })], release });
  await clock.advance(30_000);
  await holdfast.close();
  await store.close();
  assert.ok(claims > 30 && claims < 70, `it asked ${claims} times in 30 s`);
});

test('the session of a worker that died without executions is ended, though no claim reports it', async () => {
  const idle = pipeline({ name: 'idle', run: () => 1 });
  await using time = await openTestHoldfast({ pipelines: [idle] });
  const { holdfast } = time;
  const dead = await holdfast.worker({ pipelines: [idle], ttlMs: 10_000, pollMs: 86_400_000 });
  const id = dead.session;
  dead.crash();
  await time.advance(60_000);
  // Any worker with something to do ends the session on its way.
  await (await holdfast.submit(idle, undefined)).result();
  await time.advance(60_000);
  assert.equal((await holdfast.store.sessions.inspect(id))?.state, 'ended');
});
