// Every operation on a term against every way in which a term ends. Each pair is a separate
// condition in a store that decides by predicates, and each can be missing.

import assert from 'node:assert/strict';
import type { LeaseKey } from '../../../src/lease/names.ts';
import type { KernelStore, Tenure } from '../../../src/lease/port.ts';
import type { Refusal } from '../../../src/lease/refusal.ts';
import type { ContractCase, KernelHarness } from '../contract-case.ts';
import { eventsOfKind, expectKind, expectRefusal, expectUnchanged } from '../expect.ts';
import {
  acquiring,
  beginning,
  draining,
  keyOf,
  mustAcquire,
  mustRelease,
  type OpenedSession,
  openedSession,
  ownerOf,
  requestOf,
  revoking,
  saving,
} from '../opened-session.ts';

type Operation = (store: KernelStore, tenure: Tenure) => Promise<{ readonly kind: string }>;

const writes: readonly Operation[] = [
  (store, tenure) => store.leases.checkpoint(saving(tenure, 9)),
  (store, tenure) => store.leases.beginIntent(beginning(tenure, 'ship')),
  (store, tenure) => store.leases.settleIntent(beginning(tenure, 'pay')),
  (store, tenure) => store.leases.release({ ...tenure, exit: 'finished' }),
];
const drain: Operation = (store, tenure) =>
  store.leases.requestDrain(draining(tenure, { request: requestOf('late drain') }));
const revoke: Operation = (store, tenure) =>
  store.leases.revoke(revoking(tenure, { request: requestOf('late revoke') }));

const long = { ttlMs: 60_000, graceMs: 10_000 };

interface End {
  readonly upholds: string;
  readonly what: string;
  readonly why: Refusal['why'];
  readonly refuses: readonly Operation[];
  /** Ann holds the key. Her parent lives as long as she does, unless this case changes it. */
  happen(
    harness: KernelHarness,
    known: { readonly ann: OpenedSession; readonly parent: OpenedSession; readonly tenure: Tenure },
  ): Promise<void>;
}

const ends: readonly End[] = [
  {
    upholds: 'V-3, T-6',
    what: 'an operator revoked',
    why: 'ended',
    refuses: [...writes, drain, revoke],
    async happen({ store }, { tenure }) {
      expectKind(await store.leases.revoke(revoking(tenure)), 'revoked');
    },
  },
  {
    upholds: 'R-6, T-6',
    what: 'whose greatest tenure has just passed',
    why: 'ended',
    refuses: [...writes, drain, revoke],
    happen: ({ advance }) => advance(40_000),
  },
  {
    upholds: 'V-2, T-6',
    what: 'whose drain deadline has just passed',
    why: 'ended',
    refuses: [...writes, drain, revoke],
    async happen({ store, advance }, { ann, parent, tenure }) {
      const [soon, later] = [draining(tenure, { deadlineMs: 10_000 }), 15_000];
      const result = expectKind(await store.leases.requestDrain(soon), 'draining');
      await advance(later);
      for (const who of [parent, ann]) expectKind(await store.sessions.heartbeat(who), 'alive');
      await advance(result.deadlineInMs - later);
    },
  },
  {
    upholds: 'S-1, T-6',
    what: 'whose session its owner ended',
    why: 'ended',
    refuses: [...writes, drain, revoke],
    async happen({ store }, { ann }) {
      const by = { kind: 'owner', owner: ann.owner, exit: 'failed' } as const;
      expectKind(await store.sessions.end({ id: ann.id, by }), 'ended');
    },
  },
  {
    upholds: 'H-1, T-6',
    what: 'whose session’s parent an operator ended',
    why: 'ended',
    refuses: [...writes, drain, revoke],
    async happen({ store }, { parent }) {
      const by = { kind: 'operator', actor: 'olga', reason: 'gone' } as const;
      expectKind(await store.sessions.end({ id: parent.id, by }), 'ended');
    },
  },
  {
    upholds: 'H-2, T-6',
    what: 'whose session’s parent has just expired',
    why: 'expired',
    refuses: [...writes, drain],
    happen: ({ advance }) => advance(30_000),
  },
  {
    upholds: 'H-2, G-1, T-6',
    what: 'whose session’s parent has just lapsed',
    why: 'lapsed',
    refuses: writes,
    happen: ({ advance }) => advance(20_000),
  },
];

/** The case decides which deadlines matter; the others are far away. */
function endCase({ upholds, what, why, refuses, happen }: End): ContractCase {
  return {
    upholds,
    name: `every write to a term ${what} is refused, to the millisecond, and nothing stored changes`,
    async run(harness) {
      const { store } = harness;
      const isOfParent = what.includes('parent has just');
      const above = isOfParent ? { ttlMs: 30_000, graceMs: 10_000 } : long;
      const parent = await openedSession(store, 'parent', above);
      const ann = await openedSession(store, 'ann', { ...long, parent: parent.id });
      const tenureMsMax = what.includes('tenure') ? { tenureMsMax: 40_000 } : {};
      const { tenure } = await mustAcquire(store, ann, tenureMsMax);
      expectKind(await store.leases.beginIntent(beginning(tenure, 'pay')), 'begun');
      await happen(harness, { ann, parent, tenure });
      for (const operation of refuses)
        await expectUnchanged(store, why, () => operation(store, tenure));
    },
  };
}

const entryCases: readonly ContractCase[] = [
  {
    upholds: 'S-1, A-1',
    name: 'a session that has ended, itself or by its parent, cannot take a free key',
    async run({ store }) {
      const parent = await openedSession(store, 'parent');
      const child = await openedSession(store, 'child', { parent: parent.id });
      const single = await openedSession(store, 'single');
      for (const who of [parent, single]) {
        const by = { kind: 'owner', owner: who.owner, exit: 'finished' } as const;
        expectKind(await store.sessions.end({ id: who.id, by }), 'ended');
      }
      for (const who of [single, child]) {
        await expectUnchanged(store, 'session-ended', () => store.leases.acquire(acquiring(who)));
      }
    },
  },
  {
    upholds: 'A-7, H-1',
    name: 'a waiter that has ended, itself or by its parent, does not block a free key, even before a sweep',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const parent = await openedSession(store, 'parent');
      const child = await openedSession(store, 'child', { parent: parent.id });
      const single = await openedSession(store, 'single');
      const { tenure } = await mustAcquire(store, ann);
      for (const who of [child, single]) {
        expectKind(await store.leases.acquire(acquiring(who, { wait: true })), 'queued');
      }
      await mustRelease(store, tenure);
      for (const who of [parent, single]) {
        expectRefusal(await store.leases.acquire(acquiring(ann)), 'behind-others');
        const by = { kind: 'owner', owner: who.owner, exit: 'finished' } as const;
        expectKind(await store.sessions.end({ id: who.id, by }), 'ended');
      }
      await mustAcquire(store, ann);
      assert.equal((await eventsOfKind(store, 'ended')).length, 1, 'the term before ended once');
    },
  },
  {
    upholds: 'A-7',
    name: 'a waiter does not block a free key from the millisecond it expires',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann', long);
      const slow = await openedSession(store, 'slow');
      const { tenure } = await mustAcquire(store, ann);
      expectKind(await store.leases.acquire(acquiring(slow, { wait: true })), 'queued');
      await mustRelease(store, tenure);
      await advance(9_999);
      expectRefusal(await store.leases.acquire(acquiring(ann)), 'behind-others');
      await advance(1);
      await mustAcquire(store, ann);
    },
  },
  {
    upholds: 'V-5, A-7',
    name: 'once its reservation has run out, the named successor waits in the queue like others',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann', long);
      const bob = await openedSession(store, 'bob', long);
      const cid = await openedSession(store, 'cid', long);
      const { tenure } = await mustAcquire(store, ann);
      await store.leases.requestDrain(draining(tenure, { successor: bob.owner }));
      expectKind(await store.leases.acquire(acquiring(cid, { wait: true })), 'queued');
      await mustRelease(store, tenure, 'yielded');
      await advance(5_000);
      expectRefusal(await store.leases.acquire(acquiring(bob)), 'behind-others');
    },
  },
  {
    upholds: 'G-4, A-7',
    policy: { flapUnitMs: 1_000 },
    name: 'a waiter that is kept out for its losses blocks the queue again from the millisecond they are forgiven',
    async run({ store, advance }) {
      const bob = await openedSession(store, 'bob', { ttlMs: 600_000 });
      const brief = { owner: ownerOf('ann'), ttlMs: 100, graceMs: 0 };
      const taken = async () => {
        const { tenure } = await mustAcquire(store, bob);
        await mustRelease(store, tenure);
      };
      for (const life of [1, 2]) {
        await mustAcquire(store, await openedSession(store, `ann ${life}`, brief));
        await advance(100);
        await taken();
      }
      await mustAcquire(store, await openedSession(store, 'ann 3', brief));
      const waiter = await openedSession(store, 'ann waits', brief);
      expectKind(await store.leases.acquire(acquiring(waiter, { wait: true })), 'queued');
      await advance(100);
      await taken();
      await store.sessions.recover({ cause: 'outage' });
      expectKind(await store.sessions.heartbeat({ ...waiter, ttlMs: 600_000 }), 'alive');
      await advance(799);
      await taken();
      await advance(1);
      expectRefusal(await store.leases.acquire(acquiring(bob)), 'behind-others');
    },
  },
  {
    upholds: 'L-6',
    policy: { retentionMs: 60_000 },
    name: 'the sweep that deletes an old retired key leaves a younger one and one that only ended',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann', { ttlMs: 600_000 });
      const [old, ended, young] = ['old', 'ended', 'young'].map(keyOf);
      const exitAs = async (key: LeaseKey | undefined, exit: 'retired' | 'finished') => {
        assert(key !== undefined);
        const { tenure } = await mustAcquire(store, ann, { key });
        await mustRelease(store, tenure, exit);
        return key;
      };
      const keys = [await exitAs(old, 'retired'), await exitAs(ended, 'finished')];
      await advance(1);
      keys.push(await exitAs(young, 'retired'));
      await advance(59_999);
      await store.sessions.sweep({ limit: 100 });
      const left = await Promise.all(keys.map((key) => store.leases.inspect(key)));
      assert.deepEqual(
        left.map(({ record }) => record?.end?.exit),
        [undefined, 'finished', 'retired'],
      );
    },
  },
];

export const guardCases: readonly ContractCase[] = [...ends.map(endCase), ...entryCases];
