import assert from 'node:assert/strict';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { expectKind, whyOf } from '../../lease/expect.ts';
import { allMessages } from '../check.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectRefusedUnchanged } from '../expect.ts';
import {
  childOf,
  claimAll,
  commanding,
  finishing,
  type Held,
  heldOf,
  later,
  mustFinish,
  mustPark,
  mustRead,
  mustRecord,
  mustSubmit,
  OTHER_PIPELINE,
  parking,
  running,
  signalling,
  worker,
} from '../worker.ts';

interface Arrival {
  readonly what: string;
  arrive(store: CoordinatorStore, held: Held, child: Held): Promise<unknown>;
}

const arrivals: readonly Arrival[] = [
  { what: 'signal', arrive: (store, { id }) => store.executions.signal(signalling(id)) },
  { what: 'cancel', arrive: (store, { id }) => store.executions.cancel(commanding(id)) },
  { what: 'pause', arrive: (store, { id }) => store.executions.pause(commanding(id)) },
  { what: 'child-ended', arrive: (store, _, child) => mustFinish(store, child) },
];

async function parentAndChild(
  store: CoordinatorStore,
  name: string = 'ann',
): Promise<{ readonly parent: Held; readonly child: Held }> {
  const ann = await worker(store, name);
  const held = await running(store, ann);
  const child = childOf(held.id, 'child:ship#1');
  await store.executions.submit(child);
  const [claimed] = await claimAll(store, ann, { pipelines: [OTHER_PIPELINE] });
  assert(claimed !== undefined);
  return { parent: held, child: heldOf(claimed, ann) };
}

export const inboxCases: readonly ExecutionCase[] = [
  ...arrivals.map(
    ({ what, arrive }): ExecutionCase => ({
      upholds: 'X-5',
      name: `an owner cannot park before it has read a ${what}, and can after`,
      async run({ store }) {
        const { parent, child } = await parentAndChild(store);
        await arrive(store, parent, child);
        await expectRefusedUnchanged(store, 'unread-messages', () =>
          store.executions.park(parking(parent)),
        );
        const messages = await allMessages(store, parent.id);
        assert.deepEqual(
          messages.map(({ n, kind }) => [n, kind]),
          [[1, what]],
        );
        await mustPark(store, parent, { inboxSeen: 1 });
      },
    }),
  ),
  ...arrivals.map(
    ({ what, arrive }): ExecutionCase => ({
      upholds: 'X-5, X-16',
      needs: 'two-clients',
      name: `a ${what} that races a park refuses the park or wakes the execution`,
      async run({ store, another }) {
        const other = await another();
        for (let round = 0; round < 8; round += 1) {
          const { parent, child } = await parentAndChild(store, `ann ${round}`);
          const [first, second] = round % 2 === 0 ? [store, other] : [other, store];
          const [parked] = await Promise.all([
            first.executions.park(parking(parent)),
            arrive(second, parent, child),
          ]);
          const why = whyOf(parked);
          // A cancel or pause that found the execution parked needs no owner.
          const after = await mustRead(store, parent.id);
          if (why === 'unread-messages')
            assert.deepEqual([after.status, after.inboxCount], ['running', 1]);
          else assert.equal(why, 'parked');
          if (why === 'parked' && what === 'cancel') assert.equal(after.status, 'cancelled');
          else if (why === 'parked' && what === 'pause') assert.deepEqual(after.holds, ['paused']);
          else if (why === 'parked')
            assert.deepEqual([after.status, after.inboxCount], ['queued', 1]);
          await store.executions.cancel(commanding(parent.id));
        }
      },
    }),
  ),
  {
    upholds: 'X-5',
    name: 'messages of all kinds are numbered without gaps and are read in pages',
    async run({ store }) {
      const { parent, child } = await parentAndChild(store);
      await store.executions.signal(signalling(parent.id, 'one'));
      await mustFinish(store, child);
      await store.executions.pause(commanding(parent.id));
      await store.executions.signal(signalling(parent.id, 'four'));
      await store.executions.cancel(commanding(parent.id));
      const read = (after: number, limit: number) =>
        store.executions.inbox({ id: parent.id, after, limit });
      const kinds = (await read(0, 100)).map(({ n, kind }) => `${n} ${kind}`);
      const all = ['1 signal', '2 child-ended', '3 pause', '4 signal', '5 cancel'];
      assert.deepEqual(kinds, all);
      assert.deepEqual(
        (await read(2, 2)).map(({ n }) => n),
        [3, 4],
      );
      assert.deepEqual(await read(5, 10), []);
      const { inboxCount } = expectKind(
        await store.executions.record({ ...later(parent, 0), events: [] }),
        'recorded',
      );
      assert.equal(inboxCount, 5);
    },
  },
  {
    upholds: 'X-5',
    name: 'the reply to every record has the number of messages',
    async run({ store }) {
      let held = await running(store, await worker(store));
      for (const inboxCount of [1, 2, 3]) {
        await store.executions.signal(signalling(held.id));
        const request = parking(held, { inboxSeen: inboxCount - 1 });
        await expectRefusedUnchanged(store, 'unread-messages', () =>
          store.executions.park(request),
        );
        held = await mustRecord(store, held);
        assert.equal((await mustRead(store, held.id)).inboxCount, inboxCount);
      }
      await mustPark(store, held, { inboxSeen: 3 });
    },
  },
  {
    upholds: 'X-5',
    name: 'an end that names what its owner has seen is refused while there are later messages',
    async run({ store }) {
      const held = await running(store, await worker(store));
      await store.executions.signal(signalling(held.id));
      const end = finishing(held);
      await expectRefusedUnchanged(store, 'unread-messages', () =>
        store.executions.finish({ ...end, inboxSeen: 0 }),
      );
      expectKind(await store.executions.finish({ ...end, inboxSeen: 1 }), 'finished');
      const replayed = await store.executions.finish({ ...end, inboxSeen: 0 });
      expectKind(replayed, 'finished');
    },
  },
  {
    upholds: 'X-5',
    needs: 'two-clients',
    name: 'signals that are sent at once are all kept, each with its own number',
    async run({ store, another }) {
      const other = await another();
      const id = await mustSubmit(store);
      const names = Array.from({ length: 20 }, (_, nth) => `signal ${nth}`);
      await Promise.all(
        names.map((name, nth) =>
          (nth % 2 === 0 ? store : other).executions.signal(signalling(id, name)),
        ),
      );
      const messages = await allMessages(store, id);
      assert.deepEqual(messages.map(({ name }) => name).toSorted(), names.toSorted());
      assert.deepEqual(
        messages.map(({ n }) => n),
        names.map((_, nth) => nth + 1),
      );
    },
  },
];
