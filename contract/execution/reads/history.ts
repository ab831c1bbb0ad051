import assert from 'node:assert/strict';
import type { ExecutionId } from '../../../src/execution/names.ts';
import type { ExecutionCase } from '../contract-case.ts';
import {
  commanding,
  mustFinish,
  mustPark,
  mustRecord,
  mustSubmit,
  nextId,
  payload,
  running,
  signalling,
  step,
  worker,
} from '../worker.ts';

export const historyCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-22',
    name: 'history is read in pages by seq',
    async run({ store }) {
      const held = await running(store, await worker(store));
      const names = Array.from({ length: 23 }, (_, nth) => `step ${nth}`);
      await mustRecord(store, held, ...names.map((name) => step(name)));
      const read = async (after: number, limit: number) => {
        const page = await store.executions.history({ id: held.id, after, limit });
        return page.map(({ seq }) => seq);
      };
      assert.deepEqual(await read(0, 3), [1, 2, 3]);
      assert.deepEqual(await read(3, 4), [4, 5, 6, 7]);
      assert.deepEqual(await read(24, 100), [25]);
      assert.deepEqual(await read(25, 100), []);
      const all = await store.executions.history({ id: held.id, after: 2, limit: 100 });
      assert.deepEqual(
        all.map(({ name }) => name),
        names,
      );
    },
  },
  {
    upholds: 'X-22',
    name: 'names and bodies are read back byte by byte, and omitted fields are absent',
    async run({ store }) {
      const held = await running(store, await worker(store));
      const body = JSON.stringify({ text: 'Grüße \u{1f600} "\\" \u2028', n: 1e-7 }) as never;
      const events = [
        { kind: 'step-completed', name: 'näme', body },
        { kind: 'timer-set' },
        { kind: 'step-failed', body: '' as never, name: '' },
      ] as const;
      await mustRecord(store, held, ...events);
      const stored = await store.executions.history({ id: held.id, after: 2, limit: 9 });
      assert.deepEqual(
        stored.map(({ seq: _, at: __, fence: ___, ...event }) => event),
        events,
      );
    },
  },
  {
    upholds: 'X-22',
    name: 'outcomes has the executions that have ended, and no others',
    async run({ store, now }) {
      const ann = await worker(store);
      const done = await running(store, ann);
      await mustFinish(store, done);
      const busy = await running(store, ann);
      const waiting = await running(store, ann);
      await mustPark(store, waiting);
      const gone = await mustSubmit(store);
      await store.executions.cancel(commanding(gone));
      const ids = [gone, busy.id, nextId(), waiting.id, done.id];
      const outcomes = await store.executions.outcomes(ids);
      const found = new Map(outcomes.map((outcome) => [outcome.id, outcome]));
      assert.deepEqual([...found.keys()].toSorted(), [gone, done.id].toSorted());
      assert.deepEqual(
        [found.get(done.id)?.status, found.get(done.id)?.event.kind, found.get(done.id)?.endedAt],
        ['completed', 'completed', now()],
      );
      assert.deepEqual([found.get(gone)?.status, found.get(gone)?.event.seq], ['cancelled', 2]);
      assert.deepEqual(await store.executions.outcomes([]), []);
    },
  },
  {
    upholds: 'X-22',
    name: 'reading many executions returns them in the requested order, without missing ones',
    async run({ store }) {
      const ann = await worker(store);
      const done = await running(store, ann);
      await mustFinish(store, await mustRecord(store, done));
      const busy = await running(store, ann);
      const fresh = await mustSubmit(store);
      const { executions } = store;
      const known = [fresh, done.id, busy.id];
      const asked = [fresh, nextId(), done.id, busy.id, fresh];
      const records = await Promise.all(known.map((id) => executions.read(id)));
      assert.deepEqual(await executions.readMany(asked), records);
      const histories = known.map(async (id) => ({
        id,
        events: await executions.history({ id, after: 0, limit: 99 }),
      }));
      const full = await Promise.all(histories);
      const bytesMax = 1_000_000;
      assert.deepEqual(await executions.histories({ ids: asked, bytesMax }), full);
      assert.deepEqual(await executions.readMany([]), []);
      assert.deepEqual(await executions.histories({ ids: [], bytesMax }), []);
    },
  },
  {
    upholds: 'X-22',
    name: 'the size of a history is the sum of its event bodies',
    async run({ store }) {
      const { executions } = store;
      const ann = await worker(store);
      const held = await mustRecord(store, await running(store, ann), step('pay', { text: 'é𝄞' }));
      await mustFinish(store, held);
      const events = await executions.history({ id: held.id, after: 0, limit: 100 });
      const bodies = events.map(({ body = '' }) => Buffer.byteLength(body));
      const bytes = bodies.reduce((sum, each) => sum + each, 0);
      assert.equal(await executions.historyBytes(held.id), bytes);
      assert.equal(await executions.historyBytes(nextId()), 0);
    },
  },
  {
    upholds: 'X-22',
    name: 'sizes of bodies are those of the rows that a page has, in order',
    async run({ store }) {
      const { executions } = store;
      const ann = await worker(store);
      const held = await mustRecord(store, await running(store, ann), step('pay', { text: 'é𝄞' }));
      for (const text of ['short', 'é'.repeat(1_000)]) {
        await executions.signal({ ...signalling(held.id), body: payload(text) });
      }
      for (const page of [
        { id: held.id, after: 0, limit: 100 },
        { id: held.id, after: 1, limit: 1 },
        { id: nextId(), after: 0, limit: 100 },
      ]) {
        for (const what of ['history', 'inbox'] as const) {
          const rows: readonly { readonly body?: string }[] = await executions[what](page);
          const bytes = rows.map(({ body = '' }) => Buffer.byteLength(body));
          assert.deepEqual(await executions.bodySizes({ of: what, ...page }), bytes);
        }
      }
    },
  },
  {
    upholds: 'X-22',
    name: 'histories are read whole and in order, up to a limit of body bytes',
    async run({ store }) {
      const ann = await worker(store);
      const ids: ExecutionId[] = [];
      for (let nth = 0; nth < 3; nth += 1) {
        const held = await running(store, ann);
        await mustRecord(store, held, { ...step('large'), body: payload('é'.repeat(1_000)) });
        ids.push(held.id);
      }
      const read = async (bytesMax: number) =>
        (await store.executions.histories({ ids, bytesMax })).map(({ id }) => id);
      assert.deepEqual(await read(100_000), ids);
      assert.deepEqual(await read(5_500), ids.slice(0, 2));
      assert.deepEqual(await read(1_500), []);
    },
  },
  {
    upholds: 'X-22',
    name: 'every read of a missing execution returns nothing',
    async run({ store }) {
      const id = nextId();
      const { executions } = store;
      assert.equal(await executions.read(id), undefined);
      assert.deepEqual(await executions.history({ id, after: 0, limit: 9 }), []);
      assert.deepEqual(await executions.inbox({ id, after: 0, limit: 9 }), []);
      assert.deepEqual(await executions.attachments(id), []);
      assert.equal(await executions.attachment({ id, name: 'a' }), undefined);
      assert.deepEqual(await executions.children({ parent: id, limit: 9 }), []);
    },
  },
];
