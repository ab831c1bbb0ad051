import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { InvalidInput, type LeaseReport, openSession } from '../../src/index.ts';
import { observers } from '../../src/observe/index.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';

test('O-4: each of several observers gets every report, whatever one of them throws', async () => {
  const clock = new ManualClock();
  const store = openMemoryStore({ clock });
  const reports: LeaseReport[][] = [[], []];
  const broken = {
    report: () => {
      throw new Error('broken');
    },
  };
  const [one, two] = reports.map((list) => ({
    report: (report: LeaseReport) => list.push(report),
  }));
  assert.ok(one !== undefined && two !== undefined);
  const observer = observers(one, broken, two);
  const session = await openSession({ store, owner: 'ann', clock, timers: clock.timers, observer });
  await session.close();
  await clock.settle();
  assert.ok((reports[0]?.length ?? 0) > 2);
  assert.deepEqual(reports[0], reports[1]);
});

test('an object that is not an observer is refused', () => {
  const notOne = (() => 1) as unknown as { report: () => void };
  assert.throws(() => observers(notOne), InvalidInput);
});
