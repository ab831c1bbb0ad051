// A project loses a large value when none of its rows refers to it (F-15).

import assert from 'node:assert/strict';
import type { DroppedValues } from '../../../src/features/erasure/port.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { toInstant } from '../../../src/support/clock.ts';
import { digestOf } from '../../../src/support/digest.ts';
import { expectKind } from '../../lease/expect.ts';
import { opening } from '../awaits/awaiting.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { ended } from '../repair/repairing.ts';
import {
  mustSubmit,
  OTHER_PROJECT,
  PROJECT,
  payload,
  running,
  signalling,
  step,
  worker,
  writing,
} from '../worker.ts';
import { mustErase } from './erasing.ts';

interface Value {
  readonly digest: string;
  readonly bytes: Uint8Array;
  readonly envelope: { readonly ref: string; readonly size: number };
}

async function put(store: CoordinatorStore, text: string, project = PROJECT): Promise<Value> {
  const bytes = Buffer.from(text);
  const digest = digestOf(bytes);
  await store.executions.putBlob({ project, digest, bytes });
  return { digest, bytes, envelope: { ref: digest, size: bytes.length } };
}

/** All pages, one execution each. */
async function usedOf(
  store: CoordinatorStore,
  digests: readonly string[],
): Promise<readonly string[]> {
  const used: string[] = [];
  let page = await store.executions.valuesInUse({ project: PROJECT, digests, limit: 1 });
  for (let pages = 0; pages < 20; pages += 1) {
    used.push(...page.used);
    if (page.next === undefined) return [...new Set(used)].sort();
    const query = { project: PROJECT, digests, limit: 1, after: page.next };
    page = await store.executions.valuesInUse(query);
  }
  throw new Error('F-15: `next` does not end');
}

function drop(
  store: CoordinatorStore,
  digests: readonly string[],
  putBefore: number,
): Promise<DroppedValues> {
  const request = { project: PROJECT, digests, putBefore: toInstant(putBefore) };
  return store.executions.dropValues(request);
}

export const largeValueCases: readonly ExecutionCase[] = [
  {
    upholds: 'F-15',
    name: 'a large value is in use wherever a row of its project refers to it',
    async run({ store }) {
      const ann = await worker(store);
      const names = ['input', 'history', 'progress', 'beat', 'inbox', 'default', 'request', 'out'];
      const values = new Map<string, Value>();
      for (const name of names) values.set(name, await put(store, name));
      const [nothing, elsewhere] = [await put(store, 'nothing'), await put(store, 'elsewhere')];
      const of = (name: string) => values.get(name)?.envelope;
      const held = await running(store, ann, { input: payload(of('input')) });
      const { id } = held;
      await store.executions.signal({ ...signalling(id), body: payload({ out: of('inbox') }) });
      const open = opening(id);
      const write = {
        ...writing(held, step('pay', { key: 'step:pay#1', out: of('history') })),
        progress: payload(of('progress')),
        heartbeats: [
          { key: 'step:a#1' as never, attempt: 1, at: 0 as never, details: payload(of('beat')) },
        ],
        awaits: [
          {
            ...open,
            defaultAnswer: payload(of('default')),
            items: open.items.map((item) => ({ ...item, request: payload(of('request')) })),
          },
        ],
        attachments: [
          {
            name: 'holdfast.published.big',
            type: 'application/json',
            bytes: Buffer.from(payload({ out: of('out') })),
          },
        ],
      };
      expectKind(await store.executions.record(write), 'recorded');
      await mustSubmit(store, { project: OTHER_PROJECT, input: payload(elsewhere.envelope) });
      const digests = [...values.values(), nothing, elsewhere].map(({ digest }) => digest);
      const expected = [...values.values()].map(({ digest }) => digest).sort();
      assert.deepEqual(await usedOf(store, digests), expected);
      const starts = digests.map((digest) => digest.slice(0, 16));
      const found = await usedOf(store, starts);
      assert.deepEqual(found, expected.map((digest) => digest.slice(0, 16)).sort());
    },
  },
  {
    upholds: 'F-15',
    name: 'an erased execution uses no large value',
    async run({ store }) {
      const ann = await worker(store);
      const value = await put(store, 'shared');
      const input = payload(value.envelope);
      const [one, two] = [await ended(store, ann, { input }), await ended(store, ann, { input })];
      const { pending } = await mustErase(store, one);
      assert.deepEqual(pending, { values: [value.digest] });
      assert.deepEqual(await usedOf(store, [value.digest]), [value.digest]);
      await mustErase(store, two);
      assert.deepEqual(await usedOf(store, [value.digest]), []);
    },
  },
  {
    upholds: 'F-15, X-28',
    name: 'a drop takes a value from one project, and its bytes from the last',
    async run({ store, advance, now }) {
      const value = await put(store, 'in two projects');
      await put(store, 'in two projects', OTHER_PROJECT);
      const own = await put(store, 'in one');
      await advance(10);
      const start = own.digest.slice(0, 16);
      assert.deepEqual(await drop(store, [value.digest, start], now()), { dropped: 2, recent: [] });
      const read = (project: typeof PROJECT, { digest }: Value) =>
        store.executions.getBlob({ project, digest });
      assert.equal(await read(PROJECT, value), undefined);
      assert.equal(await read(PROJECT, own), undefined);
      assert.equal(
        Buffer.from((await read(OTHER_PROJECT, value)) ?? []).toString(),
        'in two projects',
      );
      assert.deepEqual(await drop(store, [value.digest], now()), { dropped: 0, recent: [] });
      await put(store, 'in one');
      assert.equal(Buffer.from((await read(PROJECT, own)) ?? []).toString(), 'in one');
    },
  },
  {
    upholds: 'F-15',
    name: 'a drop leaves a value that was put again meanwhile',
    async run({ store, advance, now }) {
      const value = await put(store, 'again');
      await advance(10);
      const since = now();
      await put(store, 'again');
      assert.deepEqual(await drop(store, [value.digest], since), {
        ...{ dropped: 0, recent: [value.digest] },
      });
      const key = { project: PROJECT, digest: value.digest };
      assert.equal(Buffer.from((await store.executions.getBlob(key)) ?? []).toString(), 'again');
      await advance(1);
      assert.deepEqual(await drop(store, [value.digest], now()), { dropped: 1, recent: [] });
    },
  },
  {
    upholds: 'F-15',
    name: 'when puts and drops of one value race, every project that put it can read it',
    needs: 'two-clients',
    async run({ store, another, advance, now }) {
      const other = await another();
      for (let round = 0; round < 20; round += 1) {
        const text = `round ${round}`;
        const { digest } = await put(store, text);
        await advance(1);
        await Promise.all([
          drop(store, [digest], now()),
          put(other, text, OTHER_PROJECT),
          ...(round % 2 === 0 ? [put(other, text)] : []),
        ]);
        const readers = round % 2 === 0 ? [PROJECT, OTHER_PROJECT] : [OTHER_PROJECT];
        for (const project of readers) {
          const bytes = await store.executions.getBlob({ project, digest });
          assert.equal(Buffer.from(bytes ?? []).toString(), text, `${project}, round ${round}`);
        }
      }
    },
  },
];
