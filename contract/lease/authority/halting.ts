import assert from 'node:assert/strict';
import { COUNTERS_PER_EPOCH, type Fence, toFence } from '../../../src/lease/fence.ts';
import type { KernelStore, Tenure } from '../../../src/lease/port.ts';
import type { ContractCase } from '../contract-case.ts';
import { eventsOfKind, expectKind, expectRefusal } from '../expect.ts';
import {
  acquiring,
  attemptOf,
  beginning,
  draining,
  KEY,
  keyOf,
  mustAcquire,
  mustBeat,
  mustRelease,
  mustSave,
  OTHER_KEY,
  openedSession,
  revoking,
  saving,
} from '../opened-session.ts';

const reason = { actor: 'olga', reason: 'this is the live copy' };

/** A fence of the epoch after the next, as a restored store would meet it. */
const ahead: Fence = toFence(3 * COUNTERS_PER_EPOCH + 7);

type Verb = (store: KernelStore, tenure: Tenure) => Promise<{ readonly kind: string }>;

const verbs: Readonly<Record<string, Verb>> = {
  checkpoint: (store, tenure) => store.leases.checkpoint(saving(tenure, 1)),
  beginIntent: (store, tenure) => store.leases.beginIntent(beginning(tenure, 'pay')),
  settleIntent: (store, tenure) => store.leases.settleIntent(beginning(tenure, 'pay')),
  release: (store, tenure) => store.leases.release({ ...tenure, exit: 'finished' }),
  requestDrain: (store, tenure) => store.leases.requestDrain(draining(tenure)),
  revoke: (store, tenure) => store.leases.revoke(revoking(tenure)),
  verify: (store, { key, fence }) => store.leases.verify({ key, fence }),
};

function casePerVerb(name: string): ContractCase {
  return {
    upholds: 'T-4',
    name: `a fence that was never issued, shown to ${name}, is refused, halts grants and raises one alarm`,
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      const before = await store.leases.inspect(KEY);
      const verb = verbs[name];
      assert(verb !== undefined);
      for (let time = 0; time < 2; time += 1) {
        expectRefusal(await verb(store, { ...tenure, fence: ahead }), 'fence-ahead');
        assert.equal((await eventsOfKind(store, 'alarm')).length, 1);
      }
      assert.deepEqual(await store.leases.inspect(KEY), before);
      expectRefusal(await store.leases.acquire(acquiring(ann, { key: OTHER_KEY })), 'halted');
      const alarms = await eventsOfKind(store, 'alarm');
      assert.deepEqual(
        alarms.map(({ alarm }) => alarm),
        ['fence-ahead'],
      );
    },
  };
}

export const haltingCases: readonly ContractCase[] = [
  ...Object.keys(verbs).map(casePerVerb),
  {
    upholds: 'T-4, A-10',
    name: 'while grants are halted no session gets a key or a place in the queue, and the refusal has the shown fence',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      await store.leases.verify({ key: keyOf('never'), fence: ahead });
      for (const wait of [false, true]) {
        assert.deepEqual(await store.leases.acquire(acquiring(ann, { wait })), {
          kind: 'refused',
          why: 'halted',
          presented: ahead,
        });
      }
      assert.equal((await store.leases.inspect(KEY)).waiting, 0);
    },
  },
  {
    upholds: 'T-4',
    name: 'while grants are halted holders keep their keys and can release them',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const attempt = attemptOf('before the halt');
      const { tenure, fence } = await mustAcquire(store, ann, { attempt });
      await store.leases.verify({ key: KEY, fence: ahead });
      await advance(9_000);
      await mustBeat(store, ann);
      await mustSave(store, tenure, 1);
      const again = await mustAcquire(store, ann, { attempt });
      assert.deepEqual([again.replayed, again.fence], [true, fence]);
      await mustRelease(store, tenure, 'yielded');
      await openedSession(store, 'bob');
    },
  },
  {
    upholds: 'T-4, T-8',
    name: 'raising the epoch ends the halt, and the next fence is above the shown one',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      await store.leases.verify({ key: KEY, fence: ahead });
      assert.deepEqual(await store.raiseEpoch(reason), { kind: 'raised', epoch: 4 });
      assert.ok((await mustAcquire(store, ann)).fence > ahead);
    },
  },
  {
    upholds: 'T-4',
    name: 'if several fences were shown, the epoch rises above the highest, in whatever order',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const highest = toFence(9 * COUNTERS_PER_EPOCH + 1);
      for (const fence of [ahead, highest, toFence(5 * COUNTERS_PER_EPOCH)]) {
        await store.leases.verify({ key: KEY, fence });
      }
      await store.raiseEpoch(reason);
      assert.ok((await mustAcquire(store, ann)).fence > highest);
    },
  },
  {
    upholds: 'T-4',
    name: 'after the raise the shown fence is an old one and halts nothing again',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const { key } = await mustAcquire(store, ann);
      await store.leases.verify({ key, fence: ahead });
      await store.raiseEpoch(reason);
      expectRefusal(await store.leases.verify({ key, fence: ahead }), 'superseded');
      await mustAcquire(store, ann, { key: OTHER_KEY });
    },
  },
  {
    upholds: 'T-4',
    name: 'a fence beyond the last issued is ahead, while the newest fence of another key is not',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const first = await mustAcquire(store, ann);
      const second = await mustAcquire(store, ann, { key: OTHER_KEY });
      const { leases } = store;
      expectRefusal(await leases.verify({ key: KEY, fence: second.fence }), 'superseded');
      const never = { key: keyOf('never'), fence: first.fence };
      expectRefusal(await leases.verify(never), 'key-unknown');
      await mustAcquire(store, ann, { key: keyOf('third') });
      const far = toFence(second.fence + 1_000_000);
      expectRefusal(await leases.verify({ key: KEY, fence: far }), 'fence-ahead');
      expectRefusal(await leases.acquire(acquiring(ann, { key: keyOf('fourth') })), 'halted');
    },
  },
  {
    upholds: 'T-4',
    needs: 'two-clients',
    name: 'a halt and its end hold for every client of the store',
    async run({ store, another }) {
      const other = await another();
      const ann = await openedSession(store, 'ann');
      await store.leases.verify({ key: KEY, fence: ahead });
      expectRefusal(await other.leases.acquire(acquiring(ann)), 'halted');
      await other.raiseEpoch(reason);
      expectKind(await store.leases.acquire(acquiring(ann)), 'granted');
    },
  },
];
