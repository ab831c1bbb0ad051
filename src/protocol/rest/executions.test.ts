import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Holdfast } from '../../engine/holdfast.ts';
import { DEFAULT_PROJECT } from '../../execution/names.ts';
import { openMemoryStore } from '../../store/sqlite/open-memory.ts';
import { systemClock } from '../../support/clock.ts';
import { systemTimers } from '../../support/timer.ts';
import { FairShares } from '../../support/turns.ts';
import { readable } from './executions.ts';

test('X-48: over HTTP a value is plain JSON; one with an unknown tag stays sealed', async () => {
  const store = openMemoryStore();
  const holdfast = new Holdfast({ store });
  const shares = new FairShares(
    { alone: 64, beside: 8 },
    { clock: systemClock, timers: systemTimers },
  );
  const reader = { holdfast, shares, project: DEFAULT_PROJECT };
  try {
    const input = { at: new Date(0), n: [1n], plain: { $date: 'x' } };
    const { id } = await holdfast.submit('nobody has it', input);
    const record = await holdfast.read(id);
    assert.deepEqual(await readable(reader, { input: record?.input ?? '' }), {
      input: { at: '1970-01-01T00:00:00.000Z', n: ['1'], plain: { $date: 'x' } },
    });
    const unknown = { v: { $url: 'x' }, tagged: true };
    assert.deepEqual(await readable(reader, { input: unknown }), { sealed: true });
  } finally {
    await holdfast.close();
    await store.close();
  }
});
