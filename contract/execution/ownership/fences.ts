// Runs every write of an owner against every way to lose ownership.

import assert from 'node:assert/strict';
import { toFence } from '../../../src/lease/fence.ts';
import { expectKind } from '../../lease/expect.ts';
import type { OpenedSession } from '../../lease/opened-session.ts';
import type { ExecutionCase, ExecutionHarness } from '../contract-case.ts';
import { expectRefusedUnchanged, type Why } from '../expect.ts';
import {
  commanding,
  endSessionOf,
  type Held,
  kindsOf,
  mustClaim,
  mustFinish,
  mustGiveBack,
  mustPark,
  mustRead,
  mustRecord,
  mustSubmit,
  nextId,
  running,
  step,
  worker,
  writing,
} from '../worker.ts';
import { OWNER_VERBS } from './owner-verbs.ts';

interface Loss {
  readonly what: string;
  readonly why: Why;
  /**
   * Ann, whose session has a parent, runs the execution. Returns the claim that she shows
   * afterwards.
   */
  happen(
    harness: ExecutionHarness,
    known: { readonly ann: OpenedSession; readonly parent: OpenedSession; readonly held: Held },
  ): Promise<Held>;
}

const losses: readonly Loss[] = [
  {
    what: 'another session has claimed the execution since',
    why: 'superseded',
    async happen({ store }, { ann, held }) {
      await endSessionOf(store, ann);
      await mustClaim(store, await worker(store, 'bob'), held.id);
      return held;
    },
  },
  {
    what: 'the same session has claimed the execution again since',
    why: 'superseded',
    async happen({ store }, { ann, held }) {
      await mustGiveBack(store, held);
      await mustClaim(store, ann, held.id);
      return { ...held, seq: held.seq + 2 };
    },
  },
  {
    what: 'the owner ended its session',
    why: 'claim-ended',
    async happen({ store }, { ann, held }) {
      await endSessionOf(store, ann);
      return held;
    },
  },
  {
    what: 'the parent of its session has ended',
    why: 'claim-ended',
    async happen({ store }, { parent, held }) {
      await endSessionOf(store, parent);
      return held;
    },
  },
  {
    what: 'a sweep expired its session',
    why: 'claim-ended',
    async happen({ store, advance }, { held }) {
      await advance(60_000);
      await store.sessions.sweep({ limit: 100 });
      return held;
    },
  },
  {
    what: 'another session shows its fence',
    why: 'claim-ended',
    async happen({ store }, { held }) {
      const bob = await worker(store, 'bob');
      return { ...held, session: bob.id };
    },
  },
  {
    what: 'the execution was parked',
    why: 'not-running',
    async happen({ store }, { held }) {
      await mustPark(store, held, { inboxSeen: 100 });
      return { ...held, seq: held.seq + 1 };
    },
  },
  {
    what: 'the execution was given back',
    why: 'not-running',
    async happen({ store }, { held }) {
      await mustGiveBack(store, held);
      return { ...held, seq: held.seq + 1 };
    },
  },
  {
    what: 'the execution was finished',
    why: 'not-running',
    async happen({ store }, { held }) {
      await mustFinish(store, held, { status: 'failed' });
      return { ...held, seq: held.seq + 1 };
    },
  },
  {
    what: 'the execution was never claimed',
    why: 'not-running',
    async happen({ store }, { held }) {
      const id = await mustSubmit(store);
      return { ...held, id, seq: 2 };
    },
  },
  {
    what: 'the execution does not exist',
    why: 'execution-unknown',
    happen: async (_, { held }) => ({ ...held, id: nextId() }),
  },
];

function lossCase({ what, why, happen }: Loss): ExecutionCase {
  return {
    upholds: 'X-1, X-51',
    name: `every write of an owner is refused when ${what}: ${why}`,
    async run(harness) {
      const { store } = harness;
      const parent = await worker(store, 'parent');
      const ann = await worker(store, 'ann', { parent: parent.id, ttlMs: 60_000, graceMs: 10_000 });
      const held = await running(store, ann);
      const shown = await happen(harness, { ann, parent, held });
      for (const { operation } of OWNER_VERBS) {
        await expectRefusedUnchanged(store, why, () => operation(store, shown));
      }
    },
  };
}

const lifeCases: readonly ExecutionCase[] = (
  [
    ['lapsed', 50_000],
    ['overdue', 60_000],
  ] as const
).map(([state, ms]) => ({
  upholds: 'X-1, S-3',
  name: `an owner whose session is ${state} still writes until the session’s end is recorded`,
  async run({ store, advance }) {
    for (const verb of OWNER_VERBS.filter(({ verb: name }) => name !== 'transact')) {
      const name = `${state} ${verb.verb}`;
      const ann = await worker(store, name, { ttlMs: 60_000, graceMs: 10_000 });
      const id = await mustSubmit(store);
      const { claimed: _, ...held } = await mustClaim(store, ann, id);
      await advance(ms);
      assert.equal((await store.sessions.inspect(ann.id))?.state, state);
      expectKind(await verb.operation(store, held), verb.done);
      const { status } = await mustRead(store, id);
      const leftOver = await worker(store, `${name} 2`);
      // End the execution, so that it does not affect the next case.
      if (status === 'running') await mustFinish(store, { ...held, seq: held.seq + 2 });
      else if (status === 'queued') await mustFinish(store, await mustClaim(store, leftOver, id));
      else if (status === 'waiting') await store.executions.cancel(commanding(id));
    }
  },
}));

export const fenceCases: readonly ExecutionCase[] = [
  ...losses.map(lossCase),
  ...lifeCases,
  {
    upholds: 'X-1',
    name: 'a stale fence cannot record even with the right seq and a live session',
    async run({ store }) {
      const ann = await worker(store);
      const first = await running(store, ann);
      await mustGiveBack(store, first);
      const second = await mustClaim(store, ann, first.id);
      await expectRefusedUnchanged(store, 'superseded', () =>
        store.executions.record(writing({ ...first, seq: second.seq })),
      );
      await mustRecord(store, second);
      assert.deepEqual(await kindsOf(store, first.id), [
        'submitted',
        'claimed',
        'given-back',
        'claimed',
        'step-completed',
      ]);
    },
  },
  {
    upholds: 'X-1',
    name: 'the fence of one execution is refused for another',
    async run({ store }) {
      const ann = await worker(store);
      const one = await running(store, ann);
      const other = await running(store, ann);
      for (const { operation } of OWNER_VERBS) {
        await expectRefusedUnchanged(store, 'superseded', () =>
          operation(store, { ...one, fence: other.fence }),
        );
      }
      assert.notEqual(one.fence, other.fence);
      assert.ok(other.fence > one.fence, 'fences rise over all executions');
    },
  },
  {
    upholds: 'X-1',
    name: 'the oldest fence is refused as superseded and halts nothing',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      const old = { ...held, fence: toFence(held.fence - 1) };
      await expectRefusedUnchanged(store, 'superseded', () =>
        store.executions.record(writing(old, step('old'))),
      );
      const next = await running(store, ann);
      assert.ok(next.fence > held.fence);
    },
  },
  {
    upholds: 'X-1',
    name: 'another session that shows the fence is refused, also while the owner writes',
    async run({ store }) {
      const [ann, bob] = [await worker(store), await worker(store, 'bob')];
      const held: Held[] = [];
      for (let nth = 0; nth < 8; nth += 1) held.push(await running(store, ann));
      // Concurrent writes may share a commit with both sessions in it.
      const kinds = await Promise.all(
        held.map(async (each, nth) => {
          const shown = nth % 2 === 0 ? each : { ...each, session: bob.id };
          return (await store.executions.record(writing(shown))).kind;
        }),
      );
      const expected = held.map((_, nth) => (nth % 2 === 0 ? 'recorded' : 'refused'));
      assert.deepEqual(kinds, expected);
    },
  },
];
