import assert from 'node:assert/strict';
import { toFence } from '../../../src/lease/fence.ts';
import type {
  CoordinatorStore,
  MessageChild,
} from '../../../src/store/contract/execution-store.ts';
import { expectKind } from '../../lease/expect.ts';
import type { OpenedSession } from '../../lease/opened-session.ts';
import { allMessages } from '../check.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectRefusedUnchanged, leavesUnchanged } from '../expect.ts';
import {
  childOf,
  endSessionOf,
  type Held,
  mustClaim,
  mustGiveBack,
  mustSubmit,
  OTHER_PROJECT,
  PROJECT,
  payload,
  running,
  statusOf,
  worker,
  writing,
} from '../worker.ts';

interface Family {
  readonly parent: Held;
  readonly child: MessageChild['child'];
}

async function family(store: CoordinatorStore): Promise<Family & { readonly ann: OpenedSession }> {
  const ann = await worker(store);
  const parent = await running(store, ann);
  const child = childOf(parent.id, 'child:pack#1');
  const write = { ...writing(parent, { kind: 'child-spawned' }), children: [child] };
  expectKind(await store.executions.record(write), 'recorded');
  return { parent, child: child.id, ann };
}

function signalling({ parent, child }: Family): MessageChild {
  const { id, fence, session } = parent;
  const message = { kind: 'signal', name: 'paid', key: 'a', out: payload({ v: 3 }) } as const;
  return { id, fence, session, project: PROJECT, child, message };
}

export const childMessageCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-125',
    name: 'the owner of a parent signals a child once for each key, and cancels it',
    async run({ store, now }) {
      const own = await family(store);
      const signal = signalling(own);
      expectKind(await store.executions.messageChild(signal), 'done');
      assert.deepEqual(await allMessages(store, own.child), [
        { n: 1, kind: 'signal', name: 'paid', body: '{"out":{"v":3}}', at: now() },
      ]);
      const again = await leavesUnchanged(store, () => store.executions.messageChild(signal));
      assert.equal(again.kind, 'no-change');
      const cancel = { ...signal, message: { kind: 'cancel', reason: 'late' } } as const;
      expectKind(await store.executions.messageChild(cancel), 'done');
      assert.equal(await statusOf(store, own.child), 'cancelled');
      const [event] = await store.executions.history({ id: own.child, after: 1, limit: 1 });
      const why = { by: `execution ${own.parent.id}`, reason: 'late' };
      assert.deepEqual(JSON.parse(event?.body ?? '{}'), why);
      await expectRefusedUnchanged(store, 'already-ended', () =>
        store.executions.messageChild(cancel),
      );
    },
  },
  {
    upholds: 'X-125',
    name: 'a worker that does not own the parent, or has no such child, reaches no child',
    async run({ store }) {
      const own = await family(store);
      const signal = signalling(own);
      const bob = await worker(store, 'bob');
      const other = await mustSubmit(store);
      const wrong: readonly Partial<MessageChild>[] = [
        { project: OTHER_PROJECT },
        { session: bob.id },
        { fence: toFence(signal.fence - 1) },
        { child: other },
      ];
      for (const each of wrong) {
        await expectRefusedUnchanged(store, 'claim-ended', () =>
          store.executions.messageChild({ ...signal, ...each }),
        );
      }
      await endSessionOf(store, own.ann);
      await expectRefusedUnchanged(store, 'claim-ended', () =>
        store.executions.messageChild(signal),
      );
    },
  },
  {
    upholds: 'X-125',
    name: 'a replaced owner of a parent reaches no child, also in the same session',
    async run({ store }) {
      const own = await family(store);
      const { parent } = own;
      await mustGiveBack(store, { ...parent, seq: parent.seq + 1 });
      const next = await mustClaim(store, own.ann);
      await expectRefusedUnchanged(store, 'claim-ended', () =>
        store.executions.messageChild(signalling(own)),
      );
      const signal = signalling({ ...own, parent: next });
      expectKind(await store.executions.messageChild(signal), 'done');
    },
  },
];
