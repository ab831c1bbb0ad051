import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import { openMemoryStore } from '../../src/store/memory/open.ts';
import { pause } from './stage.ts';

test('sessions that are overdue and may not be expired yet do not make a worker ask without end', async () => {
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
