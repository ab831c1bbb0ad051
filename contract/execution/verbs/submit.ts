import assert from 'node:assert/strict';
import { expectKind, whyOf } from '../../lease/expect.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectRefusedUnchanged, leavesUnchanged } from '../expect.ts';
import {
  claimIds,
  commanding,
  mustClaim,
  mustFinish,
  mustRead,
  mustSubmit,
  nextId,
  OTHER_PROJECT,
  payload,
  submitting,
  worker,
} from '../worker.ts';

export const submitCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-10, X-4',
    name: 'a submit inserts the row and its first event',
    async run({ store, now }) {
      const request = submitting({ delayMs: 40, body: payload({ by: 'shop' }) });
      const result = await store.executions.submit(request);
      assert.deepEqual(result, { kind: 'submitted', id: request.id, existing: false });
      const { delayMs: _, body, ...submission } = request;
      assert.deepEqual(await mustRead(store, request.id), {
        ...submission,
        status: 'queued',
        submittedAt: now(),
        readyAt: now() + 40,
        holds: [],
        gated: false,
        hasSlot: false,
        claimsWithoutProgress: 0,
        seq: 1,
        inboxCount: 0,
        wakeAfter: 0,
        compensable: false,
        compensating: false,
      });
      assert.deepEqual(await store.executions.history({ id: request.id, after: 0, limit: 9 }), [
        { seq: 1, at: now(), kind: 'submitted', body },
      ]);
    },
  },
  {
    upholds: 'X-10, X-58',
    name: 'repeating a submit returns the same execution and writes nothing',
    async run({ store, advance }) {
      for (const request of [
        submitting(),
        submitting({ intent: 'a' }),
        submitting({ key: 'order-17', intent: 'a' }),
        submitting({ key: 'order-18' }),
        submitting({ concurrency: { key: 'c', limit: 1 }, rate: { key: 'r', limit: 1, perMs: 9 } }),
      ]) {
        expectKind(await store.executions.submit(request), 'submitted');
        await advance(10);
        const again = await leavesUnchanged(store, () => store.executions.submit(request));
        assert.deepEqual(again, { kind: 'submitted', id: request.id, existing: true });
      }
    },
  },
  {
    upholds: 'X-10, X-58',
    name: 'a submit with the same key and intent returns the execution, whatever its id',
    async run({ store }) {
      const first = await mustSubmit(store, { key: 'order-17', intent: 'a' });
      const second = submitting({ key: 'order-17', intent: 'a', input: payload('other bytes') });
      const result = await leavesUnchanged(store, () => store.executions.submit(second));
      assert.deepEqual(result, { kind: 'submitted', id: first, existing: true });
      assert.equal(await store.executions.read(second.id), undefined);
    },
  },
  {
    upholds: 'X-10, X-58',
    name: 'a submit with the same key and another intent, or none, is a conflict that names the execution',
    async run({ store }) {
      const id = await mustSubmit(store, { key: 'order-17', intent: 'a' });
      for (const other of [{ intent: 'b' }, {}]) {
        const request = submitting({ key: 'order-17', ...other });
        const result = await leavesUnchanged(store, () => store.executions.submit(request));
        assert.deepEqual(result, { kind: 'refused', why: 'key-conflict', key: 'order-17', id });
      }
    },
  },
  {
    upholds: 'X-10, P-14',
    name: 'submitted() reads the answer to a repeated submit without a write, and returns undefined for a new one',
    async run({ store }) {
      const { executions } = store;
      const first = submitting({ key: 'order-17', intent: 'a' });
      assert.equal(await executions.submitted(first), undefined);
      expectKind(await executions.submit(first), 'submitted');
      for (const request of [
        first,
        submitting({ key: 'order-17', intent: 'a' }),
        submitting({ key: 'order-17', intent: 'b' }),
        { ...first, project: OTHER_PROJECT },
      ]) {
        const read = await leavesUnchanged(store, () => executions.submitted(request));
        assert.deepEqual(read, await executions.submit(request));
      }
      for (const request of [
        submitting(),
        submitting({ key: 'order-18' }),
        submitting({ key: 'order-17', project: OTHER_PROJECT }),
      ]) {
        assert.equal(await executions.submitted(request), undefined);
      }
    },
  },
  {
    upholds: 'X-10, X-21, X-58',
    name: 'a submit with a taken id and another intent or project is refused',
    async run({ store }) {
      const request = submitting({ intent: 'a' });
      expectKind(await store.executions.submit(request), 'submitted');
      for (const other of [
        { ...request, intent: 'b' },
        { ...request, project: OTHER_PROJECT },
      ]) {
        await expectRefusedUnchanged(store, 'id-taken', () => store.executions.submit(other));
      }
    },
  },
  {
    upholds: 'X-10, X-21',
    name: 'two projects can use the same key',
    async run({ store }) {
      const one = await mustSubmit(store, { key: 'order-17', intent: 'a' });
      const other = await mustSubmit(store, { key: 'order-17', project: OTHER_PROJECT });
      assert.notEqual(one, other);
    },
  },
  {
    upholds: 'X-10',
    name: 'a key stays taken after its execution has ended, however it ended',
    async run({ store }) {
      const ann = await worker(store);
      const done = await mustSubmit(store, { key: 'done', intent: 'a' });
      await mustFinish(store, await mustClaim(store, ann, done), { status: 'failed' });
      const gone = await mustSubmit(store, { key: 'gone', intent: 'a' });
      expectKind(await store.executions.cancel(commanding(gone)), 'done');
      for (const [key, id] of [
        ['done', done],
        ['gone', gone],
      ] as const) {
        const same = await store.executions.submit(submitting({ key, intent: 'a' }));
        assert.deepEqual(same, { kind: 'submitted', id, existing: true });
        await expectRefusedUnchanged(store, 'key-conflict', () =>
          store.executions.submit(submitting({ key, intent: 'b' })),
        );
      }
    },
  },
  {
    upholds: 'X-10',
    needs: 'two-clients',
    name: 'when submits with one key race, one is new, and all return its id',
    async run({ store, another }) {
      const other = await another();
      for (let round = 0; round < 6; round += 1) {
        const key = `round ${round}`;
        const results = await Promise.all(
          Array.from({ length: 8 }, (_, nth) =>
            (nth % 2 === 0 ? store : other).executions.submit(submitting({ key, intent: 'a' })),
          ),
        );
        const submitted = results.map((result) => expectKind(result, 'submitted'));
        assert.equal(submitted.filter(({ existing }) => !existing).length, 1);
        assert.equal(new Set(submitted.map(({ id }) => id)).size, 1);
      }
      assert.equal((await claimIds(store, await worker(store))).length, 6);
    },
  },
  {
    upholds: 'X-10',
    needs: 'two-clients',
    name: 'when submits with one key and two intents race, one intent wins and the other conflicts',
    async run({ store, another }) {
      const other = await another();
      for (let round = 0; round < 6; round += 1) {
        const key = `round ${round}`;
        const intents = ['a', 'b', 'a', 'b', 'a', 'b'];
        const results = await Promise.all(
          intents.map((intent, nth) =>
            (nth % 2 === 0 ? store : other).executions.submit(submitting({ key, intent })),
          ),
        );
        const winners = intents.filter((_, nth) => results[nth]?.kind === 'submitted');
        assert.equal(new Set(winners).size, 1);
        assert.equal(winners.length, 3);
        const losers = results.filter(({ kind }) => kind === 'refused').map(whyOf);
        assert.deepEqual(losers, ['key-conflict', 'key-conflict', 'key-conflict']);
      }
    },
  },
  {
    upholds: 'X-10',
    needs: 'two-clients',
    name: 'the same submit sent several times at once inserts once',
    async run({ store, another }) {
      const other = await another();
      for (let round = 0; round < 6; round += 1) {
        const request = submitting({ intent: 'a' });
        const results = await Promise.all(
          Array.from({ length: 6 }, (_, nth) =>
            (nth % 2 === 0 ? store : other).executions.submit(request),
          ),
        );
        const submitted = results.map((result) => expectKind(result, 'submitted'));
        assert.equal(submitted.filter(({ existing }) => !existing).length, 1);
      }
    },
  },
  {
    upholds: 'X-10',
    name: 'a caller that changes its request after the call does not change the stored execution',
    async run({ store }) {
      const tags = ['eu'];
      const attributes: Record<string, number> = { total: 1 };
      const id = nextId();
      await mustSubmit(store, { id, tags, attributes });
      tags.push('us');
      attributes['total'] = 2;
      const stored = await mustRead(store, id);
      assert.deepEqual([stored.tags, stored.attributes], [['eu'], { total: 1 }]);
    },
  },
];
