// Values that an older build stored without a project: they belong to the projects whose rows refer
// to them, and a digest alone gives no access (ADR 0032).

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { submitting } from '../../contract/execution/worker.ts';
import type { Payload } from '../../src/execution/names.ts';
import { Holdfast, pipeline } from '../../src/index.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { digestOf } from '../../src/support/digest.ts';
import { TestCoordinator } from './coordinator.ts';
import { RawWorker } from './raw-worker.ts';

export interface OlderWorld {
  readonly store: CoordinatorStore;
  /** Written with the older build's statement, that long ago. */
  putAsBefore(value: Value, agoMs: number): Promise<void>;
  close(): Promise<void>;
}

export interface Value {
  readonly digest: string;
  readonly bytes: Uint8Array;
}

const LONG_AGO_MS = 86_400_000;

function largeValue(text: string): Value & { readonly ref: string } {
  const bytes = new TextEncoder().encode(JSON.stringify(text));
  const digest = digestOf(bytes);
  return { digest, bytes, ref: `{"ref":"${digest}","size":${bytes.length}}` };
}

const echo = pipeline({ name: 'echo', run: (_, input: string) => input.length });

/** As the older build submits it. */
async function submitRef(store: CoordinatorStore, project: string, input: string): Promise<string> {
  const request = submitting({ project, pipeline: 'echo', input: input as Payload } as never);
  await store.executions.submit(request);
  return request.id;
}

async function statusOf(worker: RawWorker, digest: string): Promise<number> {
  return (await worker.call('GET', `/v1/work/blobs/${digest}`)).status;
}

type Case = (world: OlderWorld, t: TestContext) => Promise<void>;

const CASES: Readonly<Record<string, Case>> = {
  'X-29: a worker reads a value that its project’s execution refers to, and another project with the digest does not':
    async ({ store, putAsBefore }) => {
      await using coordinator = await TestCoordinator.open({ store: unclosed(store) });
      const value = largeValue('of ours');
      await putAsBefore(value, LONG_AGO_MS);
      const id = await submitRef(store, 'ours', value.ref);
      const stranger = await RawWorker.open(coordinator, 'theirs');
      assert.equal(await statusOf(stranger, value.digest), 404);
      await coordinator.worker([echo], { project: 'ours' });
      const client = await coordinator.client(['submit'], 'ours');
      assert.equal((await client.executions.result(id)).output, 'of ours'.length);
      assert.equal(await statusOf(stranger, value.digest), 404);
    },

  'X-29: two projects that refer to one value both read it, even if a third project puts it again':
    async ({ store, putAsBefore }) => {
      const value = largeValue('of both');
      await putAsBefore(value, LONG_AGO_MS);
      await store.executions.putBlob({ ...value, project: 'third' as never });
      const holdfast = new Holdfast({ store });
      const worker = await holdfast.worker({ pipelines: [echo], pollMs: 20 });
      for (const project of ['ours', 'theirs']) {
        const id = await submitRef(store, project, value.ref);
        assert.equal(await holdfast.result(id), 'of both'.length);
      }
      await worker.stop();
      await holdfast.close();
    },

  'X-29: a value that an older build puts after another project is found by its own project':
    async ({ store, putAsBefore }) => {
      const value = largeValue('the same');
      await store.executions.putBlob({ ...value, project: 'ours' as never });
      await putAsBefore(value, LONG_AGO_MS);
      const id = await submitRef(store, 'theirs', value.ref);
      const holdfast = new Holdfast({ store });
      const input = (await holdfast.read(id))?.input ?? '';
      assert.equal(await holdfast.decode(input, { project: 'theirs' }), 'the same');
      await holdfast.close();
    },

  'X-29, M-23: another project cannot store a reference to it, nor a value that looks like one':
    async ({ store, putAsBefore }) => {
      await using coordinator = await TestCoordinator.open({ store: unclosed(store) });
      const value = largeValue('of ours');
      await putAsBefore(value, LONG_AGO_MS);
      await submitRef(store, 'ours', value.ref);
      const stranger = await RawWorker.open(coordinator, 'theirs');
      const similar = { pipeline: 'x', input: { out: JSON.parse(value.ref) } };
      await stranger.call('POST', '/v1/executions', similar);
      const own = await stranger.claim('x');
      assert.equal(await statusOf(stranger, value.digest), 404);
      const body = `{"key":"step:s#1","out":${value.ref}}`;
      const { json } = await stranger.write(own, {
        events: [{ kind: 'step-completed', name: 's', body }],
      });
      assert.deepEqual([json.results[0].kind, json.results[0].code], ['fault', 'invalid-input']);
      assert.equal(await statusOf(stranger, value.digest), 404);
    },

  'X-29: a value that an older coordinator gave out with a claim is found by its worker': async ({
    store,
    putAsBefore,
  }) => {
    await using coordinator = await TestCoordinator.open({ store: unclosed(store) });
    const [ours, theirs] = [largeValue('of ours'), largeValue('of theirs')];
    const worker = await RawWorker.open(coordinator, 'ours');
    const own = await worker.running('x');
    for (const each of [ours, theirs]) await putAsBefore(each, LONG_AGO_MS);
    const expected = [{ kind: 'step-completed', name: 's', body: `{"out":${ours.ref}}` }];
    await store.executions.record({ ...own, events: expected } as never);
    assert.equal(await statusOf(worker, theirs.digest), 404);
    assert.equal(await statusOf(worker, ours.digest), 200);
  },

  'X-29, X-78: a value that an older coordinator has just stored can be referred to, and one from long ago cannot':
    async ({ store, putAsBefore }) => {
      await using coordinator = await TestCoordinator.open({ store: unclosed(store) });
      const worker = await RawWorker.open(coordinator, 'ours');
      const own = await worker.running('x');
      const [before, now] = [largeValue('before'), largeValue('now')];
      await putAsBefore(before, LONG_AGO_MS);
      await putAsBefore(now, 1_000);
      const write = (ref: string): object => ({
        events: [{ kind: 'step-completed', name: 's', body: `{"key":"step:s#1","out":${ref}}` }],
      });
      assert.equal((await worker.write(own, write(before.ref))).json.results[0].kind, 'fault');
      assert.equal((await worker.write(own, write(now.ref))).json.results[0].kind, 'recorded');
      assert.equal(await statusOf(worker, now.digest), 200);
    },
};

/** The opener of the world closes its store. */
function unclosed(store: CoordinatorStore): CoordinatorStore {
  return { ...store, close: async () => undefined };
}

export function registerValuesFromBefore(kind: string, open: () => Promise<OlderWorld>): void {
  for (const [title, run] of Object.entries(CASES)) {
    test(`${kind}: ${title}`, async (t) => {
      const world = await open();
      try {
        await run(world, t);
      } finally {
        await world.close();
      }
    });
  }
}
