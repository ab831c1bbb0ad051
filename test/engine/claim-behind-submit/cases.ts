// An idle worker claims in the transaction of a submit of its own process.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  claiming,
  claimOnce,
  LONG,
  PIPELINE,
  PROJECT,
  worker,
} from '../../../contract/execution/worker.ts';
import { Holdfast } from '../../../src/engine/holdfast.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import { claimWithin } from '../../../src/protocol/rest/waiting-claims.ts';
import { buildCoordinator } from '../../../src/server/coordinator-of.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';

const greet = pipeline({
  name: 'greet',
  run: (ctx, name: string) => ctx.step('greet', () => `Hello, ${name}`),
});
const other = pipeline({ name: 'other', run: async () => 'other' });

interface Scene {
  readonly holdfast: Holdfast;
  readonly store: CoordinatorStore;
  /** The number of transactions that wrote executions. */
  transactions(): number;
}

/** Opens an empty store that counts its transactions. */
export type OpenStore = (onBoundary: (phase: 'before' | 'after') => void) => Promise<{
  readonly store: CoordinatorStore;
  clear(): Promise<void>;
}>;

export function registerClaimBehindSubmit(open: OpenStore): void {
  const inScene = async (use: (scene: Scene) => Promise<void>): Promise<void> => {
    let transactions = 0;
    const { store, clear } = await open((phase) => {
      if (phase === 'before') transactions += 1;
    });
    const holdfast = new Holdfast({ store });
    try {
      await use({ holdfast, store, transactions: () => transactions });
    } finally {
      await holdfast.close();
      await store.close();
      await clear();
    }
  };
  /** Long enough that no poll takes part. */
  const pollMs = 60_000;

  test('X-103: submit and claim are one transaction, last step and end another', () =>
    inScene(async ({ holdfast, transactions }) => {
      await holdfast.worker({ pipelines: [greet], pollMs });
      const run = async (name: string): Promise<string> =>
        (await holdfast.submit(greet, name)).result();
      await run('Ada');
      const counts: number[] = [];
      for (let nth = 0; nth < 20; nth += 1) {
        const before = transactions();
        assert.equal(await run(`number ${nth}`), `Hello, number ${nth}`);
        counts.push(transactions() - before);
      }
      // A duty of the worker may fall into one of them.
      const median = counts.toSorted((one, two) => one - two)[10];
      assert.equal(median, 2, `transactions per execution: ${counts}`);
    }));

  test('X-103: a claim behind a submit takes the oldest first', () =>
    inScene(async ({ holdfast, store }) => {
      const order: string[] = [];
      const noted = pipeline({
        name: 'noted',
        run: async (_ctx, name: string) => {
          order.push(name);
        },
      });
      for (const name of ['first', 'second']) await holdfast.submit(noted, name);
      await holdfast.worker({ pipelines: [noted], concurrency: 1, pollMs });
      const last = await holdfast.submit(noted, 'third');
      await last.result();
      assert.deepEqual(order, ['first', 'second', 'third']);
      assert.equal(store.executions.claimsJoinSubmits, true);
    }));

  test('X-103: a worker for another pipeline neither claims nor delays it', () =>
    inScene(async ({ holdfast }) => {
      await holdfast.worker({ pipelines: [other], pollMs });
      const handle = await holdfast.submit(greet, 'Ada');
      await holdfast.worker({ pipelines: [greet], pollMs });
      assert.equal(await handle.result(), 'Hello, Ada');
    }));

  test('X-103: submits in one turn are all claimed, however few slots are free', () =>
    inScene(async ({ holdfast }) => {
      await holdfast.worker({ pipelines: [greet], concurrency: 3, pollMs });
      const names = Array.from({ length: 50 }, (_, nth) => `number ${nth}`);
      const handles = await Promise.all(names.map((name) => holdfast.submit(greet, name)));
      const results = await Promise.all(handles.map((handle) => handle.result()));
      assert.deepEqual(
        results,
        names.map((name) => `Hello, ${name}`),
      );
    }));

  test('X-103: a worker that stops gives back what a claim behind a submit took', () =>
    inScene(async ({ holdfast }) => {
      const worker = await holdfast.worker({ pipelines: [greet], pollMs });
      await (await holdfast.submit(greet, 'Ada')).result();
      const submitted = holdfast.submit(greet, 'Bob');
      await worker.stop();
      const { id } = await submitted;
      const { status } = (await holdfast.read(id)) ?? {};
      assert.ok(status === 'queued' || status === 'completed', status);
      await holdfast.worker({ pipelines: [greet], pollMs });
      assert.equal(await holdfast.result(id), 'Hello, Bob');
    }));

  test('X-103: a claim that waits at a coordinator joins a submit of that coordinator', () =>
    inScene(async ({ store, transactions }) => {
      const coordinator = buildCoordinator({ store, port: 0 }, undefined);
      const sessions = [await worker(store, 'ann', LONG), await worker(store, 'bob', LONG)];
      const gone = new AbortController();
      const waiting = sessions.map((session) => {
        const claim = { ...claiming(session), project: PROJECT };
        return claimWithin(coordinator, claim, { waitMs: pollMs, signal: gone.signal });
      });
      // Both claims look once, and find nothing.
      await Promise.all(sessions.map((session) => claimOnce(store, claiming(session))));
      const before = transactions();
      const submitted = await Promise.all(
        [1, 2, 3].map((n) => coordinator.holdfast.submit(PIPELINE, n)),
      );
      assert.equal(transactions() - before, 1);
      const first = await Promise.race(waiting);
      assert.ok(first.kind === 'claimed');
      assert.deepEqual(
        first.claims.map(({ execution }) => execution.id).toSorted(),
        submitted.map(({ id }) => id).toSorted(),
      );
      gone.abort();
      await Promise.all(waiting);
      coordinator.readiness.close();
      await coordinator.holdfast.close();
    }));
}
