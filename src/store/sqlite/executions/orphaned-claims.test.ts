// Claims whose commit succeeded without an answer. A live session carries their executions, so no
// other session can have them.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  claiming,
  claimOnce,
  endSessionOf,
  heldOf,
  mustClaim,
  mustFinish,
  mustRead,
  mustSubmit,
  signalling,
  worker,
} from '../../../../contract/execution/worker.ts';
import { OutcomeUnknown } from '../../../support/fault.ts';
import type { CoordinatorStore } from '../../contract/execution-store.ts';
import { Connection } from '../connection.ts';
import { openSqliteStore } from '../open.ts';

async function opened(t: TestContext): Promise<CoordinatorStore> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-orphans-'));
  const store = await openSqliteStore({ file: join(folder, 'store.db') });
  t.after(async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });
  return store;
}

/** Makes the next commits fail with a disk error and no open transaction. */
function failCommits(t: TestContext, outcomes: readonly ('done' | 'undone')[]): void {
  const left = [...outcomes];
  const run = Connection.prototype.run;
  const mock = t.mock.method(
    Connection.prototype,
    'run',
    function (this: Connection, sql: string, parameters = {}) {
      const outcome = sql === 'commit' ? left.shift() : undefined;
      if (outcome === undefined) return run.call(this, sql, parameters);
      if (left.length === 0) mock.mock.restore();
      run.call(this, outcome === 'done' ? 'commit' : 'rollback');
      throw Object.assign(new Error('disk I/O error'), { errcode: 10 });
    },
  );
}

test('X-25: a claim that got no answer is returned to the next claim of its session', async (t) => {
  const store = await opened(t);
  const ann = await worker(store);
  const [first, second] = [await mustSubmit(store), await mustSubmit(store)];
  failCommits(t, ['done']);
  await assert.rejects(store.executions.claim(claiming(ann)), OutcomeUnknown);
  assert.equal((await mustRead(store, first)).status, 'running');
  await store.executions.signal(signalling(first));
  const other = await worker(store, 'bob');
  assert.deepEqual((await claimOnce(store, claiming(other))).claims, []);
  const { claims, more } = await claimOnce(store, claiming(ann));
  assert.deepEqual(
    claims.map(({ execution, previous }) => [execution.id, execution.inboxCount, previous]),
    [
      [first, 1, 'none'],
      [second, 0, 'none'],
    ],
  );
  assert.equal(more, true);
  assert.deepEqual((await claimOnce(store, claiming(ann))).claims, [], 'once');
  for (const claimed of claims) await mustFinish(store, heldOf(claimed, ann));
});

test('X-25: a claim that was not done is not returned, and its executions are claimed anew', async (t) => {
  const store = await opened(t);
  const ann = await worker(store);
  const id = await mustSubmit(store);
  failCommits(t, ['undone']);
  await assert.rejects(store.executions.claim(claiming(ann)), OutcomeUnknown);
  const held = await mustClaim(store, ann, id);
  await mustFinish(store, held);
});

test('X-25: an answer that is lost twice is not forgotten', async (t) => {
  const store = await opened(t);
  const ann = await worker(store);
  const id = await mustSubmit(store);
  failCommits(t, ['done', 'undone', 'done']);
  for (let times = 0; times < 3; times += 1) {
    await assert.rejects(store.executions.claim(claiming(ann)), OutcomeUnknown);
  }
  const { claims } = await claimOnce(store, claiming(ann));
  assert.deepEqual(
    claims.map(({ execution }) => execution.id),
    [id],
  );
});

test('X-25: executions of a lost claim go to other sessions once its session has ended', async (t) => {
  const store = await opened(t);
  const ann = await worker(store);
  const id = await mustSubmit(store);
  failCommits(t, ['done']);
  await assert.rejects(store.executions.claim(claiming(ann)), OutcomeUnknown);
  await endSessionOf(store, ann);
  const bob = await worker(store, 'bob');
  const { claimed } = await mustClaim(store, bob, id);
  assert.equal(claimed.previous, 'lost');
  const result = await store.executions.claim(claiming(ann));
  assert.equal(result.kind, 'refused');
});
