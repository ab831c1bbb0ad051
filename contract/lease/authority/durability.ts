import assert from 'node:assert/strict';
import { COUNTERS_PER_EPOCH, toFence } from '../../../src/lease/fence.ts';
import type { ContractCase } from '../contract-case.ts';
import { allEvents, expectKind, expectRefusal } from '../expect.ts';
import {
  acquiring,
  attemptOf,
  beginning,
  draining,
  KEY,
  mustAcquire,
  mustBeat,
  mustRelease,
  mustSave,
  OTHER_KEY,
  openedSession,
  openingOf,
  ownerOf,
  revoking,
  saving,
  several,
  textOf,
} from '../opened-session.ts';

const needs = 'durable';
const long = { ttlMs: 600_000, graceMs: 0 };
const outage = { cause: 'opened again' };

export const durabilityCases: readonly ContractCase[] = [
  {
    upholds: 'D-1',
    needs,
    name: 'sessions, their time, their family and their metadata survive a reopening',
    async run({ store, reopen, advance }) {
      const parent = await openedSession(store, 'parent', { metadata: { host: 'h-1' } });
      const child = await openedSession(store, 'child', { parent: parent.id });
      await advance(1_000);
      const before = await store.sessions.list({ limit: 10 });
      const after = await reopen();
      assert.deepEqual(await after.sessions.list({ limit: 10 }), before);
      await mustBeat(after, parent);
      await mustBeat(after, child);
    },
  },
  {
    upholds: 'D-1, T-5',
    needs,
    name: 'a lease is held after a reopening, under the same fence and with the same time left',
    async run({ store, reopen, advance }) {
      const ann = await openedSession(store, 'ann');
      const held = await mustAcquire(store, ann, { tenureMsMax: 60_000 });
      await advance(2_000);
      const before = await store.leases.inspect(KEY);
      const after = await reopen();
      assert.deepEqual(await after.leases.inspect(KEY), before);
      assert.deepEqual(await after.leases.verify(held), { kind: 'current', authorityMs: 6_000 });
      const bob = await openedSession(after, 'bob');
      expectRefusal(await after.leases.acquire(acquiring(bob)), 'held');
    },
  },
  {
    upholds: 'D-1, K-5, K-6',
    needs,
    name: 'both checkpoints and the open intents survive a reopening',
    async run({ store, reopen }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      await mustSave(store, tenure, 1);
      await store.leases.checkpoint({ ...saving(tenure, 2, 'naïve ✓'), type: 'text/plain' });
      await store.leases.beginIntent({ ...beginning(tenure, 'pay'), note: 'order 17' });
      const after = await reopen();
      const { record } = await after.leases.inspect(KEY);
      assert.equal(textOf(record?.checkpoint?.bytes), 'naïve ✓');
      assert.equal(textOf(record?.checkpointBefore?.bytes), 'state 1');
      assert.deepEqual(
        [record?.checkpoint?.type, record?.intents.map(({ effect, note }) => [effect, note])],
        ['text/plain', [['pay', 'order 17']]],
      );
    },
  },
  {
    upholds: 'T-3, D-1',
    needs,
    name: 'fences keep rising after every reopening',
    async run({ store, reopen }) {
      const ann = await openedSession(store, 'ann', long);
      const fences: number[] = [];
      let current = store;
      for (let time = 0; time < 4; time += 1) {
        const { tenure, fence } = await mustAcquire(current, ann, { reopen: true });
        fences.push(fence);
        await mustRelease(current, tenure, time % 2 === 0 ? 'finished' : 'retired');
        current = await reopen();
      }
      assert.deepEqual(
        fences,
        [...new Set(fences)].sort((a, b) => a - b),
      );
    },
  },
  {
    upholds: 'T-3, L-6',
    needs,
    policy: { retentionMs: 0 },
    name: 'a fence is not issued again even if its record was deleted before the reopening',
    async run({ store, reopen }) {
      const ann = await openedSession(store, 'ann', long);
      const { tenure, fence } = await mustAcquire(store, ann);
      await mustRelease(store, tenure, 'retired');
      await store.sessions.sweep({ limit: 100 });
      const after = await reopen();
      assert.ok((await mustAcquire(after, ann)).fence > fence);
    },
  },
  {
    upholds: 'T-4',
    needs,
    name: 'a halt and a raised epoch survive a reopening',
    async run({ store, reopen }) {
      const ann = await openedSession(store, 'ann', long);
      const ahead = toFence(6 * COUNTERS_PER_EPOCH + 3);
      await store.leases.verify({ key: KEY, fence: ahead });
      const halted = await reopen();
      expectRefusal(await halted.leases.acquire(acquiring(ann)), 'halted');
      await halted.raiseEpoch({ actor: 'olga', reason: 'checked' });
      const raised = await reopen();
      assert.ok((await mustAcquire(raised, ann)).fence > ahead);
    },
  },
  {
    upholds: 'A-7, D-1',
    needs,
    name: 'the queue is the same after a reopening',
    async run({ store, reopen }) {
      const ann = await openedSession(store, 'ann', long);
      const { tenure } = await mustAcquire(store, ann);
      const people = await several(store, 'waiter', { count: 3, ...long });
      const requests = people.map((who) => acquiring(who, { wait: true }));
      for (const request of requests) await store.leases.acquire(request);
      const after = await reopen();
      await mustRelease(after, tenure);
      const places: unknown[] = [];
      for (const request of [...requests].reverse()) {
        const result = await after.leases.acquire(request);
        places.push(result.kind === 'queued' ? result.ahead : result.kind);
      }
      assert.deepEqual(places, [2, 1, 'granted']);
    },
  },
  {
    upholds: 'O-1, D-1',
    needs,
    name: 'events survive a reopening, and new ones have higher numbers',
    async run({ store, reopen }) {
      const ann = await openedSession(store, 'ann', long);
      await mustRelease(store, (await mustAcquire(store, ann)).tenure);
      const before = await allEvents(store);
      const after = await reopen();
      await mustAcquire(after, ann);
      const events = await allEvents(after);
      assert.deepEqual(events.slice(0, before.length), before);
      const last = before.at(-1)?.seq ?? 0;
      assert.ok(events.slice(before.length).every(({ seq }) => seq > last));
      assert.equal(events.length, before.length + 1);
    },
  },
  {
    upholds: 'V-5, V-1, D-1',
    needs,
    name: 'drains and reservations survive a reopening',
    async run({ store, reopen, advance }) {
      const ann = await openedSession(store, 'ann', long);
      const cid = await openedSession(store, 'cid', long);
      const { tenure } = await mustAcquire(store, ann);
      const other = await mustAcquire(store, ann, { key: OTHER_KEY });
      await store.leases.requestDrain(draining(tenure, { successor: ownerOf('bob') }));
      await store.leases.requestDrain(draining(other));
      await mustRelease(store, tenure, 'yielded');
      const after = await reopen();
      expectRefusal(await after.leases.acquire(acquiring(cid)), 'reserved');
      assert.equal((await after.leases.inspect(OTHER_KEY)).state, 'draining');
      await advance(5_000);
      await mustAcquire(after, cid);
    },
  },
  {
    upholds: 'G-4, D-1',
    needs,
    policy: { flapUnitMs: 60_000 },
    name: 'penalties for losing a key survive a reopening',
    async run({ store, reopen, advance, now }) {
      const steady = await openedSession(store, 'steady', long);
      for (let time = 0; time < 3; time += 1) {
        const brief = { owner: ownerOf('shaky'), ttlMs: 1_000 };
        await mustAcquire(store, await openedSession(store, `shaky at ${now()}`, brief));
        await advance(1_000);
        await mustRelease(store, (await mustAcquire(store, steady)).tenure);
      }
      const after = await reopen();
      const back = await openedSession(after, 'back', { owner: ownerOf('shaky') });
      expectRefusal(await after.leases.acquire(acquiring(back)), 'damped');
    },
  },
  {
    upholds: 'U-2, D-1',
    needs,
    name: 'requests repeated after a reopening get the same answers and take effect once',
    async run({ store, reopen }) {
      const ann = await openedSession(store, 'ann', long);
      const attempt = attemptOf('before');
      const { tenure, fence } = await mustAcquire(store, ann, { attempt });
      await mustSave(store, tenure, 1);
      await store.leases.beginIntent(beginning(tenure, 'pay'));
      await store.leases.requestDrain(draining(tenure));
      const before = await allEvents(store);
      const { leases, sessions } = await reopen();
      const opened = expectKind(await sessions.open(openingOf('ann', long)), 'opened');
      const granted = expectKind(await leases.acquire(acquiring(ann, { attempt })), 'granted');
      const saved = expectKind(await leases.checkpoint(saving(tenure, 1)), 'saved');
      const begun = expectKind(await leases.beginIntent(beginning(tenure, 'pay')), 'begun');
      const drained = expectKind(await leases.requestDrain(draining(tenure)), 'draining');
      assert.equal(granted.fence, fence);
      for (const result of [opened, granted, saved, begun, drained]) {
        assert.equal(result.replayed, true, result.kind);
      }
      const again = await reopen();
      assert.deepEqual(await allEvents(again), before);
    },
  },
  {
    upholds: 'U-2, L-2',
    needs,
    name: 'ends from before a reopening can be repeated after it',
    async run({ store, reopen }) {
      const ann = await openedSession(store, 'ann', long);
      const released = await mustAcquire(store, ann);
      const revoked = await mustAcquire(store, ann, { key: OTHER_KEY });
      await mustRelease(store, released.tenure, 'failed');
      await store.leases.revoke(revoking(revoked));
      const { leases } = await reopen();
      assert.deepEqual(await leases.release({ ...released.tenure, exit: 'failed' }), {
        kind: 'released',
        replayed: true,
      });
      assert.deepEqual(await leases.revoke(revoking(revoked)), { kind: 'revoked', replayed: true });
    },
  },
  {
    upholds: 'E-6, D-1',
    needs,
    name: 'repeated restarts do not earn a second fair chance',
    async run({ store, reopen, advance }) {
      const ann = await openedSession(store, 'ann');
      await mustAcquire(store, ann);
      await advance(10_000);
      await store.sessions.recover(outage);
      await advance(4_000);
      const second = await reopen();
      await second.sessions.recover(outage);
      await advance(1_000);
      const third = await reopen();
      await third.sessions.recover(outage);
      const bob = await openedSession(third, 'bob');
      await mustAcquire(third, bob);
    },
  },
  {
    upholds: 'E-4, D-1',
    needs,
    name: 'a session that was silent while the store was closed expires at the next acquire',
    async run({ store, reopen, advance }) {
      const ann = await openedSession(store, 'ann');
      await mustAcquire(store, ann);
      const after = await reopen();
      await advance(10_000);
      const bob = await openedSession(after, 'bob');
      assert.equal((await mustAcquire(after, bob)).predecessor.exit, 'expired');
    },
  },
  {
    upholds: 'C-2',
    needs: ['durable', 'host-clock'],
    name: 'a clock that was set back while the store was closed extends no session',
    async run({ store, reopen, advance }) {
      const ann = await openedSession(store, 'ann');
      await advance(9_500);
      await openedSession(store, 'bob');
      await advance(-60_000);
      const after = await reopen();
      const inspected = await after.sessions.inspect(ann.id);
      assert.deepEqual([inspected?.state, inspected?.remainingMs], ['lapsed', 500]);
    },
  },
];
