// Executions named by their keys, and the lifetime of a key.

import assert from 'node:assert/strict';
import type { IfKeyTaken } from '../../../src/execution/decide/submit.ts';
import type { ExecutionId, ExecutionRef } from '../../../src/execution/names.ts';
import type { CoordinatorStore, Submit } from '../../../src/store/contract/execution-store.ts';
import { expectKind } from '../../lease/expect.ts';
import { allMessages } from '../check.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { leavesUnchanged } from '../expect.ts';
import {
  commanding,
  finishing,
  mustClaim,
  mustFinish,
  mustPark,
  mustRead,
  mustSubmit,
  OTHER_PROJECT,
  PROJECT,
  running,
  statusOf,
  submitting,
  worker,
} from '../worker.ts';

const KEY = 'order/17';
const NAMED = `key:${KEY}` as ExecutionRef;

async function holderOf(store: CoordinatorStore): Promise<ExecutionId | undefined> {
  return store.executions.idOfKey({ project: PROJECT, key: KEY });
}

function keyed(ifKeyTaken: IfKeyTaken, options: Partial<Submit> = {}): Submit {
  return submitting({ key: KEY, intent: 'a', ifKeyTaken, ...options });
}

/** An execution that has the key and has ended. */
async function endedOne(store: CoordinatorStore): Promise<ExecutionId> {
  const ann = await worker(store);
  const held = await running(store, ann, { key: KEY, intent: 'a' });
  await mustFinish(store, held);
  return held.id;
}

export const keyCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-104, X-21',
    name: 'a command reaches the execution that has the key, in its project only',
    async run({ store }) {
      const { executions } = store;
      const id = await mustSubmit(store, { key: KEY });
      await mustSubmit(store, { key: 'order/18' });
      expectKind(await executions.pause(commanding(NAMED)), 'done');
      expectKind(await executions.resume(commanding(NAMED)), 'done');
      expectKind(await executions.signal({ ...commanding(NAMED), name: 'paid' }), 'done');
      assert.deepEqual(
        (await allMessages(store, id)).map(({ kind, name }) => `${kind} ${name}`),
        ['signal paid'],
      );
      const elsewhere = commanding(NAMED, { project: OTHER_PROJECT });
      const refused = await leavesUnchanged(store, () => executions.cancel(elsewhere));
      assert.deepEqual(refused, { kind: 'refused', why: 'execution-unknown', id: NAMED });
      const other = await mustSubmit(store, { key: KEY, project: OTHER_PROJECT });
      expectKind(await executions.cancel(commanding(NAMED)), 'done');
      assert.equal(await statusOf(store, id), 'cancelled');
      expectKind(await executions.pause(elsewhere), 'done');
      assert.equal(await statusOf(store, other), 'queued');
      assert.deepEqual(await executions.cancel(commanding(NAMED)), {
        ...{ kind: 'refused', why: 'already-ended', id, status: 'cancelled' },
      });
    },
  },
  {
    upholds: 'X-104, X-70',
    name: 'a command by key reaches the successor that took the key over, also while it is taken over',
    async run({ store }) {
      const ann = await worker(store);
      let held = await running(store, ann, { key: KEY });
      for (let round = 0; round < 5; round += 1) {
        const successor = submitting({ lineage: held.id });
        const [finished, signalled] = await Promise.all([
          store.executions.finish(finishing(held, { successor })),
          store.executions.signal({ ...commanding(NAMED), name: 'paid' }),
        ]);
        expectKind(finished, 'finished');
        assert.notEqual(signalled.kind, 'refused');
        held = await mustClaim(store, ann, successor.id);
        assert.equal((await allMessages(store, successor.id)).length, round + 1);
      }
    },
  },
  {
    upholds: 'X-105',
    name: 'with `refuse`, a taken key is refused whatever the content',
    async run({ store }) {
      const first = keyed('refuse');
      expectKind(await store.executions.submit(first), 'submitted');
      for (const request of [keyed('refuse'), keyed('refuse', { intent: 'b' })]) {
        const result = await leavesUnchanged(store, () => store.executions.submit(request));
        assert.deepEqual(result, { kind: 'refused', why: 'key-in-use', key: KEY, id: first.id });
      }
      const again = await leavesUnchanged(store, () => store.executions.submit(first));
      assert.deepEqual(again, { kind: 'submitted', id: first.id, existing: true });
    },
  },
  {
    upholds: 'X-105',
    name: 'with `reuse`, an open execution keeps its key, and an ended one gives it up',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann, { key: KEY, intent: 'a' });
      const same = await leavesUnchanged(store, () => store.executions.submit(keyed('reuse')));
      assert.deepEqual(same, { kind: 'submitted', id: held.id, existing: true });
      const other = keyed('reuse', { intent: 'b' });
      const conflict = await leavesUnchanged(store, () => store.executions.submit(other));
      assert.deepEqual(conflict, { kind: 'refused', why: 'key-conflict', key: KEY, id: held.id });

      await mustFinish(store, held);
      const { key: _, ...before } = await mustRead(store, held.id);
      const result = await store.executions.submit(other);
      assert.deepEqual(result, { kind: 'submitted', id: other.id, existing: false });
      assert.equal(await holderOf(store), other.id);
      assert.deepEqual(await mustRead(store, held.id), before);
      const again = await leavesUnchanged(store, () => store.executions.submit(other));
      assert.deepEqual(again, { kind: 'submitted', id: other.id, existing: true });
      await mustClaim(store, ann, other.id);
    },
  },
  {
    upholds: 'X-105, X-17, X-74',
    name: 'with `replace`, an open execution is cancelled and gives its key up',
    async run({ store }) {
      const ann = await worker(store);
      const queued = await mustSubmit(store, { key: KEY, intent: 'a' });
      const second = await mustSubmit(store, keyed('replace'));
      assert.equal(await statusOf(store, queued), 'cancelled');
      const { claimed: _, ...held } = await mustClaim(store, ann, second);

      const third = await mustSubmit(store, keyed('replace', { intent: 'c' }));
      assert.equal(await statusOf(store, second), 'running');
      assert.deepEqual(
        (await allMessages(store, second)).map(({ kind }) => kind),
        ['cancel'],
      );
      assert.equal(await holderOf(store), third);
      await mustFinish(store, held, { status: 'cancelled' });

      const parked = await mustClaim(store, ann, third);
      await mustPark(store, parked);
      const fourth = await mustSubmit(store, keyed('replace'));
      assert.equal(await statusOf(store, third), 'cancelled');
      assert.equal(await holderOf(store), fourth);
      const again = await leavesUnchanged(store, () =>
        store.executions.submit(keyed('replace', { id: fourth, lineage: fourth })),
      );
      assert.deepEqual(again, { kind: 'submitted', id: fourth, existing: true });
    },
  },
  {
    upholds: 'X-105, RE-6',
    name: 'a refused submit leaves the execution that has the key as it is',
    async run({ store }) {
      await mustSubmit(store, { key: KEY, intent: 'a' });
      const request = keyed('replace', { release: 'v9' });
      const result = await leavesUnchanged(store, () => store.executions.submit(request));
      assert.equal(result.kind === 'refused' && result.why, 'release-unknown');
    },
  },
  {
    upholds: 'X-105',
    name: 'one of many submits at once that reuse a key takes it over, and the others join it',
    async run({ store }) {
      await endedOne(store);
      const requests = Array.from({ length: 8 }, () => keyed('reuse'));
      const results = await Promise.all(requests.map((each) => store.executions.submit(each)));
      const ids = new Set(results.map((each) => expectKind(each, 'submitted').id));
      const fresh = results.filter((each) => each.kind === 'submitted' && !each.existing);
      assert.equal(fresh.length, 1);
      assert.deepEqual([...ids], [await holderOf(store)]);
    },
  },
  {
    upholds: 'X-105',
    name: 'one of many submits at once that replace stays open and has the key',
    async run({ store }) {
      await mustSubmit(store, { key: KEY, intent: 'a' });
      const requests = Array.from({ length: 8 }, () => keyed('replace'));
      const results = await Promise.all(requests.map((each) => store.executions.submit(each)));
      for (const each of results) assert.equal(expectKind(each, 'submitted').existing, false);
      const statuses = await Promise.all(requests.map(({ id }) => statusOf(store, id)));
      const open = requests.filter((_, nth) => statuses[nth] === 'queued');
      assert.deepEqual(
        open.map(({ id }) => id),
        [await holderOf(store)],
      );
    },
  },
];
