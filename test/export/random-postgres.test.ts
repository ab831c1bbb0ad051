// Random stores, exported and imported there and back: every row is unchanged, and the history
// still gives the same state.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { checkEverything } from '../../contract/execution/check.ts';
import {
  claimAll,
  commanding,
  endSessionOf,
  finishing,
  heldOf,
  PROJECT,
  parking,
  signalling,
  step,
  submitting,
  worker,
  writing,
} from '../../contract/execution/worker.ts';
import { acquiring, keyOf, mustAcquire, saving } from '../../contract/lease/opened-session.ts';
import { openStore } from '../../src/embedded/open-store.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { inFolder } from '../cli/spawned.ts';
import { postgresForTests } from '../services/postgres.ts';
import { runSeed } from '../services/tier.ts';
import { allRows, expectEqual, exportAndImport, exported } from './exported.ts';

const OPERATIONS = [
  'submit',
  'keyed',
  'labelled',
  'finish',
  'fail',
  'park',
  'record',
  'crash',
  'signal',
] as const;
const OTHERS = ['cancel', 'pause', 'lease', 'checkpoint', 'blob', 'wait'] as const;

const program = fc.array(
  fc.record({
    operation: fc.constantFrom(...OPERATIONS, ...OTHERS),
    n: fc.integer({ min: 0, max: 7 }),
    // Texts that could break JSON, SQL or lines. PostgreSQL does not accept NUL.
    text: fc
      .string({ unit: 'grapheme', maxLength: 20 })
      .map((text) => `${text.replaceAll('\0', '')}'"\\\u2028\n`),
    // The engine turns -0 into 0 before a store sees it.
    number: fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
  }),
  { minLength: 10, maxLength: 60 },
);

type Operation = (typeof program extends fc.Arbitrary<infer Operations extends readonly unknown[]>
  ? Operations
  : never)[number];

/** A refusal is fine: the store decides. */
async function play(store: CoordinatorStore, operations: readonly Operation[]): Promise<void> {
  const brief = { ttlMs: 200, graceMs: 0 };
  let owners = 0;
  let ann = await worker(store, `ann ${owners}`, brief);
  const ids: string[] = [];
  for (const { operation, n, text, number } of operations) {
    const { executions, leases } = store;
    const id = ids[n % Math.max(1, ids.length)] as never;
    if (operation === 'submit' || operation === 'keyed' || operation === 'labelled') {
      const attributes = { text, number, isOdd: n % 2 === 1 };
      const extra = operation === 'labelled' ? { tags: [`t${text}`.trim()], attributes } : {};
      const request = submitting({
        input: JSON.stringify({ text, number }) as never,
        ...(operation === 'keyed' ? { key: `k${n}` as never } : {}),
        ...extra,
      });
      await executions.submit(request);
      ids.push(request.id);
    } else if (operation === 'crash') {
      await endSessionOf(store, ann);
      owners += 1;
      ann = await worker(store, `ann ${owners}`, brief);
    } else if (operation === 'lease') {
      await leases.acquire(acquiring(ann, { key: keyOf(`lease/${n}`) }));
    } else if (operation === 'wait') {
      await leases.acquire(acquiring(ann, { key: keyOf(`lease/${n}`), wait: true } as never));
    } else if (operation === 'checkpoint') {
      const { tenure } = await mustAcquire(store, ann, {
        key: keyOf(`saved/${ids.length}/${n}/${text.length}/${number}`),
      });
      await leases.checkpoint(saving(tenure, 1, text));
    } else if (operation === 'blob') {
      await executions.putBlob({
        project: PROJECT,
        digest: String(n).repeat(64),
        bytes: new TextEncoder().encode(text),
      });
    } else if (id === undefined) {
      // There is no target for it.
    } else if (operation === 'signal') await executions.signal(signalling(id, `s${n}`));
    else if (operation === 'cancel') await executions.cancel(commanding(id));
    else if (operation === 'pause') await executions.pause(commanding(id));
    else await own(store, ann, { operation, n, text });
  }
}

/** Operations of an owner on every execution that can be claimed. */
async function own(
  store: CoordinatorStore,
  ann: Awaited<ReturnType<typeof worker>>,
  { operation, n, text }: Pick<Operation, 'operation' | 'n' | 'text'>,
): Promise<void> {
  const { executions } = store;
  for (const claimed of await claimAll(store, ann)) {
    const held = heldOf(claimed, ann);
    if (operation === 'record')
      await executions.record(writing(held, step(`r${n}`, { text, saga: n % 2 === 0 })));
    else if (operation === 'finish') await executions.finish(finishing(held));
    else if (operation === 'fail')
      await executions.finish(finishing(held, { status: 'cancelled' }));
    else await executions.park(parking(held, { wakeInMs: n * 1_000, inboxSeen: 99 }));
  }
}

test('EX-5, EX-8: a random store arrives complete, in both directions', async () => {
  const { url, release } = await postgresForTests();
  let runs = 0;
  try {
    await fc.assert(
      fc.asyncProperty(program, (operations) =>
        inFolder(async (folder) => {
          runs += 1;
          const first = { store: join(folder, 'first.db') };
          const server = { store: url, postgres: { schema: `random_${runs}` } };
          const last = { store: join(folder, 'last.db') };
          const store = await openStore(first.store);
          await play(store, operations).finally(() => store.close());
          await exportAndImport(first, server, join(folder, 'a.ndjson'));
          await exportAndImport(server, last, join(folder, 'b.ndjson'));
          const before = await allRows(first);
          expectEqual(await allRows(server), before);
          const opened = await openStore(last.store);
          await checkEverything(opened).finally(() => opened.close());
          await exported(last, join(folder, 'c.ndjson'));
          const after = await allRows(last);
          expectEqual(after, before);
          assert.ok(after.counters.fence > before.counters.fence);
        }),
      ),
      { numRuns: 12, seed: runSeed() % 2 ** 31 },
    );
  } finally {
    await release();
  }
});
