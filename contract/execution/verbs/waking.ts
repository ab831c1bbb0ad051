// Messages that wake a waiting execution.

import assert from 'node:assert/strict';
import type { ExecutionId } from '../../../src/execution/names.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import type { OpenedSession } from '../../lease/opened-session.ts';
import type { ExecutionCase } from '../contract-case.ts';
import {
  childOf,
  claimAll,
  claimIds,
  commanding,
  type Held,
  heldOf,
  later,
  mustClaim,
  mustFinish,
  mustPark,
  mustRead,
  mustSubmit,
  OTHER_PIPELINE,
  OTHER_PROJECT,
  payload,
  running,
  signalling,
  worker,
  writing,
} from '../worker.ts';

/** A parent with children that all run. */
async function family(
  store: CoordinatorStore,
  who: OpenedSession,
  count: number,
): Promise<{ readonly parent: Held; readonly children: readonly Held[] }> {
  const held = await running(store, who);
  const submits = Array.from({ length: count }, (_, nth) => childOf(held.id, `child:${nth}#1`));
  await store.executions.record({ ...writing(held, { kind: 'child-spawned' }), children: submits });
  const claims = await claimAll(store, who, { pipelines: [OTHER_PIPELINE] });
  assert.equal(claims.length, count);
  return { parent: later(held), children: claims.map((each) => heldOf(each, who)) };
}

async function waitingState(store: CoordinatorStore, id: ExecutionId): Promise<unknown> {
  const { status, wakeAfter, inboxCount } = await mustRead(store, id);
  return [status, wakeAfter, inboxCount];
}

export const wakingCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-16',
    name: 'a parent that waits for several children wakes with the last of them, not before',
    async run({ store }) {
      const ann = await worker(store);
      const { parent, children } = await family(store, ann, 4);
      await mustPark(store, parent, { wakeAfter: 3 });
      const seen: unknown[] = [];
      for (const child of children) {
        await mustFinish(store, child);
        seen.push(await waitingState(store, parent.id));
      }
      assert.deepEqual(seen, [
        ['waiting', 2, 1],
        ['waiting', 1, 2],
        ['queued', 0, 3],
        ['queued', 0, 4],
      ]);
      await mustClaim(store, ann, parent.id);
    },
  },
  {
    upholds: 'X-16',
    needs: 'two-clients',
    name: 'children that end at once are all counted, and wake the parent once',
    async run({ store, another }) {
      const other = await another();
      for (let round = 0; round < 5; round += 1) {
        const ann = await worker(store, `ann ${round}`);
        const { parent, children } = await family(store, ann, 6);
        await mustPark(store, parent, { wakeAfter: 6 });
        await Promise.all(
          children.map((child, nth) => mustFinish(nth % 2 === 0 ? store : other, child)),
        );
        assert.deepEqual(await waitingState(store, parent.id), ['queued', 0, 6]);
        await mustFinish(store, await mustClaim(store, ann, parent.id));
      }
    },
  },
  {
    upholds: 'X-16',
    needs: 'two-clients',
    name: 'children that end at once, one fewer than needed, do not wake the parent',
    async run({ store, another }) {
      const other = await another();
      const ann = await worker(store);
      const { parent, children } = await family(store, ann, 6);
      await mustPark(store, parent, { wakeAfter: 6 });
      const [last, ...first] = children;
      assert(last !== undefined);
      await Promise.all(
        first.map((child, nth) => mustFinish(nth % 2 === 0 ? store : other, child)),
      );
      assert.deepEqual(await waitingState(store, parent.id), ['waiting', 1, 5]);
      assert.deepEqual(await claimIds(store, ann), []);
      await mustFinish(store, last);
      await mustClaim(store, ann, parent.id);
    },
  },
  {
    upholds: 'X-16, X-5',
    needs: 'two-clients',
    name: 'children that end while their parent parks are neither lost nor counted twice',
    async run({ store, another }) {
      const other = await another();
      for (let round = 0; round < 6; round += 1) {
        const ann = await worker(store, `ann ${round}`);
        const { parent, children } = await family(store, ann, 3);
        // Like the engine: after a refusal, it reads its inbox and parks for the rest.
        const parkForAll = async (): Promise<void> => {
          for (let inboxSeen = 0; ; ) {
            const request = { ...writing(parent, { kind: 'parked' }), inboxSeen };
            const result = await store.executions.park({ ...request, wakeAfter: 3 - inboxSeen });
            if (result.kind === 'parked') return;
            const refused = result.why === 'unread-messages' ? result.inboxCount : -1;
            assert.ok(refused > inboxSeen, JSON.stringify(result));
            inboxSeen = refused;
            if (inboxSeen === 3) return;
          }
        };
        await Promise.all([parkForAll(), ...children.map((child) => mustFinish(other, child))]);
        const { status, inboxCount } = await mustRead(store, parent.id);
        assert.equal(inboxCount, 3);
        assert.ok(status === 'queued' || status === 'running', status);
        if (status === 'queued') await mustFinish(store, await mustClaim(store, ann, parent.id));
      }
    },
  },
  {
    upholds: 'X-16',
    name: 'a parent that waits for any child wakes with the first',
    async run({ store }) {
      const ann = await worker(store);
      const { parent, children } = await family(store, ann, 2);
      await mustPark(store, parent, { wakeAfter: 0 });
      const [first] = children;
      assert(first !== undefined);
      await mustFinish(store, first);
      assert.deepEqual(await waitingState(store, parent.id), ['queued', 0, 1]);
    },
  },
  {
    upholds: 'X-16, X-19',
    name: 'a signal wakes an execution at once, whatever else it waits for, and brings its timer forward',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      const { parent } = await family(store, ann, 2);
      await mustPark(store, parent, { wakeAfter: 2, wakeInMs: 60_000 });
      await advance(10);
      await store.executions.signal(signalling(parent.id));
      const woken = await mustRead(store, parent.id);
      assert.deepEqual([woken.status, woken.readyAt], ['queued', now()]);
      const { claimed } = await mustClaim(store, ann, parent.id);
      assert.equal(claimed.execution.wakeAfter, 0);
    },
  },
  {
    upholds: 'X-16',
    name: 'a wakeup does not change a timer that is already due',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      await mustPark(store, held, { wakeInMs: 100 });
      const due = now() + 100;
      await advance(5_000);
      await store.executions.signal(signalling(held.id));
      const woken = await mustRead(store, held.id);
      assert.deepEqual([woken.status, woken.readyAt], ['queued', due]);
    },
  },
  {
    upholds: 'X-16',
    name: 'messages to a queued execution are counted and do not change its time',
    async run({ store, now }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      const back = { ...writing(held, { kind: 'given-back' }), delayMs: 9_000 };
      await store.executions.giveBack(back);
      await store.executions.signal(signalling(held.id));
      const queued = await mustRead(store, held.id);
      assert.deepEqual(
        [queued.status, queued.readyAt, queued.inboxCount],
        ['queued', now() + 9_000, 1],
      );
    },
  },
  {
    upholds: 'X-16, X-17, X-20',
    name: 'children that are cancelled or fail by their deadline count like those that finish',
    async run({ store, advance }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      const gone = childOf(held.id, 'child:gone#1');
      const late = childOf(held.id, 'child:late#1', { deadlineMs: 1_000 });
      await store.executions.record({
        ...writing(held, { kind: 'child-spawned' }),
        children: [gone, late],
      });
      await mustPark(store, later(held), { wakeAfter: 2 });
      await store.executions.cancel(commanding(gone.id));
      assert.deepEqual(await waitingState(store, held.id), ['waiting', 1, 1]);
      await advance(1_000);
      await store.executions.maintain({ limit: 10 });
      assert.deepEqual(await waitingState(store, held.id), ['queued', 0, 2]);
      const inbox = await store.executions.inbox({ id: held.id, after: 0, limit: 10 });
      assert.deepEqual(
        inbox.map(({ name, body }) => [name, JSON.parse(body ?? '{}').status]),
        [
          ['child:gone#1', 'cancelled'],
          ['child:late#1', 'failed'],
        ],
      );
    },
  },
  {
    upholds: 'X-14',
    name: 'an execution of another project that names a parent sends it no message',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      await mustPark(store, held, { wakeAfter: 1 });
      const project = OTHER_PROJECT;
      const [ends, cancelled] = ['child:pay#1', 'child:ask#1'].map((call) =>
        childOf(held.id, call, { project }),
      );
      assert(ends !== undefined && cancelled !== undefined);
      await mustSubmit(store, cancelled);
      await store.executions.cancel(commanding(cancelled.id, { project }));
      await mustSubmit(store, ends);
      const [claim] = await claimAll(store, ann, { pipelines: [OTHER_PIPELINE] });
      assert(claim !== undefined);
      await mustFinish(store, heldOf(claim, ann), { outcome: payload({ forged: true }) });
      await store.executions.reconcile({ part: 'waiting', limit: 100, dryRun: false });
      assert.deepEqual(await waitingState(store, held.id), ['waiting', 1, 0]);
      const inbox = await store.executions.inbox({ id: held.id, after: 0, limit: 10 });
      assert.deepEqual(inbox, []);
    },
  },
];
