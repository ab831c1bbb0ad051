// A worker on a store that was moved elsewhere: it says so, and not all the time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExecutionReport } from '../../src/engine/observer.ts';
import { Holdfast, pipeline } from '../../src/index.ts';
import { openMemoryStore } from '../../src/store/memory/open.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';

test('M-1: a worker tells once that its store was sealed, and then every half a minute', async () => {
  const clock = new ManualClock();
  const store = openMemoryStore({ clock });
  const told: string[] = [];
  const observer = {
    report: (report: ExecutionReport): void => {
      if (report.kind === 'trouble' && /claimed/.test(report.what)) told.push(report.cause);
    },
  };
  const holdfast = new Holdfast({ store, clock, timers: clock.timers, observer });
  const worker = await holdfast.worker({ pipelines: [pipeline({ name: 'any', run: () => 1 })] });
  const seal = { actor: 'olga', reason: 'moved', to: 'shop.ndjson' };
  await store.seals.seal({ ...seal, id: '00000000-0000-4000-8000-000000000001' });
  await clock.advance(70_000);
  assert.ok(told.length >= 2 && told.length <= 4, `${told.length} times`);
  assert.match(told[0] ?? '', /sealed|moved/);
  await store.seals.unseal({ actor: 'olga', reason: 'given up' });
  const { result } = await holdfast.submit('any', undefined);
  await clock.advance(60_000);
  assert.equal(await result(), 1);
  await worker.stop();
  await holdfast.close();
});
