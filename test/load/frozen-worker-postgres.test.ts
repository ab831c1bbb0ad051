// P1: a worker that is frozen past its ttl and wakes again finds its executions taken over: what it still
// wants to record is refused, and nothing it says is in their history.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { postgresForTests } from '../services/postgres.ts';
import { Fleet } from './fleet.ts';

const database = postgresForTests();
after(async () => (await database).release());

const EXECUTIONS = 10;

test('P1: what a frozen worker records after it was replaced is refused', async () => {
  const { url } = await database;
  const place = { kind: 'postgres', url, schema: 'frozen' } as const;
  const fleet = await Fleet.open(() => place, { ttlMs: 1_000 });
  try {
    // Its first steps end after it has been replaced.
    await fleet.start('frozen', { stepMs: 400 });
    const ids = await fleet.submitWithoutWaiting(EXECUTIONS);
    await fleet.untilAll(ids, ({ status }) => status === 'running');
    fleet.signal('frozen', 'SIGSTOP');
    await fleet.start('successor');
    await fleet.untilAll(ids, ({ status }) => status === 'completed');
    fleet.signal('frozen', 'SIGCONT');
    // It is alive and well again when it completes something new.
    const [last] = await fleet.submitWithoutWaiting(1);
    assert.ok(last !== undefined);
    await fleet.end('successor', 'SIGTERM');
    await fleet.untilAll([last], ({ status }) => status === 'completed');
    for (const id of ids) {
      const history = await fleet.holdfast.history(id);
      const fences = history.flatMap(({ fence }) => fence ?? []);
      assert.deepEqual(
        fences,
        [...fences].sort((a, b) => a - b),
        'effects are in the order of fences',
      );
      assert.equal(history.filter(({ kind }) => kind === 'completed').length, 1);
      const names = history.flatMap(({ kind, name }) => (kind === 'step-completed' ? [name] : []));
      assert.deepEqual(names, ['one', 'two', 'three']);
    }
  } finally {
    await fleet.close();
  }
});
