import assert from 'node:assert/strict';
import { COUNTERS_PER_EPOCH, epochOf, toFence } from '../../../src/lease/fence.ts';
import type { KernelStore } from '../../../src/lease/port.ts';
import { NOTICES_PER_EPOCH } from '../../../src/lease/session.ts';
import type { ContractCase } from '../contract-case.ts';
import { eventsOfKind, expectKind, expectRefusal } from '../expect.ts';
import {
  acquiring,
  KEY,
  keyOf,
  mustAcquire,
  mustBeat,
  mustRelease,
  mustSave,
  type OpenedSession,
  OTHER_KEY,
  openedSession,
  revoking,
  several,
} from '../opened-session.ts';

const long = { ttlMs: 3_600_000, graceMs: 0 };
const reason = { actor: 'olga', reason: 'restored from a copy' };

async function noticesOf(store: KernelStore, who: OpenedSession): Promise<number> {
  return expectKind(await store.sessions.heartbeat(who), 'alive').notices;
}

export const fenceCases: readonly ContractCase[] = [
  {
    upholds: 'T-1',
    name: 'a fence in a new store is a safe integer of the first epoch',
    async run({ store }) {
      const { fence } = await mustAcquire(store, await openedSession(store, 'ann'));
      assert.ok(Number.isSafeInteger(fence));
      assert.equal(epochOf(fence), 1);
      assert.ok(fence > COUNTERS_PER_EPOCH);
    },
  },
  {
    upholds: 'T-2',
    name: 'fences rise from grant to grant over all keys of the store',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const fences: number[] = [];
      for (let number = 0; number < 12; number += 1) {
        fences.push((await mustAcquire(store, ann, { key: keyOf(`part ${number}`) })).fence);
      }
      assert.deepEqual(
        fences,
        [...new Set(fences)].sort((a, b) => a - b),
      );
    },
  },
  {
    upholds: 'T-3',
    policy: { retentionMs: 0, flapUnitMs: 0 },
    name: 'no fence is issued twice, not even after release, revoke, expiry, retirement or deletion',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann', long);
      const fences: number[] = [];
      const take = async (): Promise<Parameters<typeof mustRelease>[1]> => {
        const { tenure, fence } = await mustAcquire(store, ann, { reopen: true });
        fences.push(fence);
        return tenure;
      };
      await mustRelease(store, await take(), 'finished');
      await store.leases.revoke(revoking(await take()));
      await mustRelease(store, await take(), 'retired');
      await take().then((tenure) => mustRelease(store, tenure, 'retired'));
      await store.sessions.sweep({ limit: 100 });
      assert.equal((await store.leases.inspect(KEY)).record, undefined);
      const brief = await openedSession(store, 'brief', { ttlMs: 1_000 });
      fences.push((await mustAcquire(store, brief)).fence);
      await advance(1_000);
      await take();
      assert.deepEqual(
        fences,
        [...new Set(fences)].sort((a, b) => a - b),
      );
      assert.equal(fences.length, 6);
    },
  },
  {
    upholds: 'T-5',
    name: 'heartbeats, checkpoints and refused acquires of others leave the fence as it is',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob');
      const { tenure, fence } = await mustAcquire(store, ann);
      for (let seq = 1; seq <= 5; seq += 1) {
        await advance(100);
        await mustBeat(store, ann);
        await mustSave(store, tenure, seq);
        expectKind(await store.leases.acquire(acquiring(bob)), 'refused');
      }
      assert.equal((await store.leases.inspect(KEY)).record?.fence, fence);
    },
  },
  {
    upholds: 'T-4',
    name: 'raising the epoch lifts every later fence above all earlier ones and is in the events',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const before = await mustAcquire(store, ann);
      assert.deepEqual(await store.raiseEpoch(reason), { kind: 'raised', epoch: 2 });
      const after = await mustAcquire(store, ann, { key: OTHER_KEY });
      assert.ok(after.fence > before.fence);
      assert.equal(epochOf(after.fence), 2);
      const [event] = await eventsOfKind(store, 'epoch-raised');
      assert.deepEqual([event?.actor, event?.cause], ['olga', 'restored from a copy']);
    },
  },
  {
    upholds: 'T-4, T-5',
    name: 'a holder continues under its old fence after the epoch is raised',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      await store.raiseEpoch(reason);
      await mustSave(store, tenure, 1);
      assert.equal((await store.leases.verify(tenure)).kind, 'current');
      await mustRelease(store, tenure);
    },
  },
  {
    upholds: 'T-4, S-2, T-10',
    name: 'raising the epoch gives every live session more notices than it can have forgotten',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      let before = await noticesOf(store, ann);
      for (let time = 0; time < 2; time += 1) {
        await store.raiseEpoch(reason);
        const notices = await noticesOf(store, ann);
        assert.ok(notices >= before + NOTICES_PER_EPOCH, `${notices} after ${before}`);
        before = notices;
      }
      const bob = await openedSession(store, 'bob');
      assert.equal(await noticesOf(store, bob), 0, 'a later session has no earlier notices');
      const by = { kind: 'owner', owner: ann.owner, exit: 'finished' } as const;
      await store.sessions.end({ id: ann.id, by });
      await store.raiseEpoch(reason);
      const ended = await store.sessions.inspect(ann.id);
      assert.equal(ended?.session.notices, before, 'an ended session gets no later notices');
    },
  },
  {
    upholds: 'T-4, S-2',
    name: 'a raise that skips epochs, which a restored store has forgotten, gives the notices of all of them',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      const before = await noticesOf(store, ann);
      const forgotten = toFence(4 * COUNTERS_PER_EPOCH + 7);
      expectRefusal(await store.leases.verify({ ...tenure, fence: forgotten }), 'fence-ahead');
      const { epoch } = await store.raiseEpoch(reason);
      assert.equal(await noticesOf(store, ann), before + (epoch - 1) * NOTICES_PER_EPOCH);
    },
  },
  {
    upholds: 'T-4, T-8',
    needs: 'two-clients',
    name: 'every raise of the epoch counts, even if two clients raise it at once',
    async run({ store, another }) {
      const other = await another();
      const raised = await Promise.all(
        [store, other, store, other].map((client) => client.raiseEpoch(reason)),
      );
      assert.deepEqual(raised.map(({ epoch }) => epoch).sort(), [2, 3, 4, 5]);
    },
  },
  {
    upholds: 'A-1, T-2',
    needs: 'two-clients',
    name: 'when many acquires of one key race, exactly one is granted, round after round',
    async run({ store, another }) {
      const other = await another();
      const people = await several(store, 'racer', { count: 8 });
      let newest = 0;
      for (let round = 0; round < 5; round += 1) {
        const results = await Promise.all(
          people.map((who, lane) =>
            (lane % 2 === 0 ? store : other).leases.acquire(acquiring(who)),
          ),
        );
        const winners = results.flatMap((result, lane) =>
          result.kind === 'granted' ? [{ lane, fence: result.fence }] : [],
        );
        const [winner, ...more] = winners;
        assert(winner !== undefined && more.length === 0, `${winners.length} winners`);
        const others = results.filter((result) => result.kind === 'refused');
        assert.ok(others.every((result) => result.why === 'held'));
        assert.ok(winner.fence > newest, 'fences must rise');
        newest = winner.fence;
        const session = people[winner.lane]?.id;
        assert(session !== undefined);
        await mustRelease(store, { key: KEY, fence: winner.fence, session });
      }
    },
  },
  {
    upholds: 'T-2, T-3',
    needs: 'two-clients',
    name: 'grants of many keys at once by two clients all have different fences',
    async run({ store, another }) {
      const other = await another();
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob');
      const grants = await Promise.all(
        Array.from({ length: 30 }, (_, number) => {
          const [client, who] = number % 2 === 0 ? [store, ann] : [other, bob];
          return client.leases.acquire(acquiring(who, { key: keyOf(`part ${number}`) }));
        }),
      );
      const fences = grants.map((grant) => expectKind(grant, 'granted').fence);
      assert.equal(new Set(fences).size, 30);
    },
  },
  {
    upholds: 'A-1, E-2',
    needs: 'two-clients',
    name: 'an expired key that many acquire at once goes to exactly one, with one end event',
    async run({ store, another, advance }) {
      const other = await another();
      const ann = await openedSession(store, 'ann');
      const { fence } = await mustAcquire(store, ann);
      const people = await several(store, 'heir', { count: 6, ...long });
      await advance(10_000);
      const results = await Promise.all(
        people.map((who, lane) => (lane % 2 === 0 ? store : other).leases.acquire(acquiring(who))),
      );
      const grants = results.filter((result) => result.kind === 'granted');
      assert.deepEqual(
        grants.map(({ predecessor }) => [predecessor.exit, predecessor.fence]),
        [['expired', fence]],
      );
      assert.equal((await eventsOfKind(store, 'ended')).length, 1);
      assert.equal((await eventsOfKind(store, 'session-ended')).length, 1);
    },
  },
];
