import assert from 'node:assert/strict';
import type { KernelStore } from '../../../src/lease/port.ts';
import type { ContractCase, KernelHarness } from '../contract-case.ts';
import { expectKind, expectUnchanged } from '../expect.ts';
import {
  acquiring,
  KEY,
  mustAcquire,
  mustRelease,
  type OpenedSession,
  OTHER_KEY,
  openedSession,
  ownerOf,
} from '../opened-session.ts';

/** A loss costs a minute, so that three in quick succession exceed the limit. */
const policy = { flapUnitMs: 60_000 };
const long = { ttlMs: 3_600_000, graceMs: 0 };
const shaky = ownerOf('shaky');

async function steadyOne(store: KernelStore): Promise<OpenedSession> {
  return openedSession(store, 'steady', long);
}

/** The shaky owner takes the key, is silent for a second and loses it to the steady one. */
async function loseTo(harness: KernelHarness, steady: OpenedSession, times: number): Promise<void> {
  const { store, advance, now } = harness;
  for (let time = 0; time < times; time += 1) {
    const brief = { owner: shaky, ttlMs: 1_000, graceMs: 0 };
    await mustAcquire(store, await openedSession(store, `shaky at ${now()}`, brief));
    await advance(1_000);
    await mustRelease(store, (await mustAcquire(store, steady)).tenure);
  }
}

export const flapCases: readonly ContractCase[] = [
  {
    upholds: 'G-4',
    policy,
    name: 'an owner that lost a key by expiry three times in a row is kept from it, to the millisecond',
    async run(harness) {
      const { store, advance } = harness;
      await loseTo(harness, await steadyOne(store), 3);
      // Three minutes less the two seconds between the first loss and the last; two minutes are
      // free.
      const waitMs = 60_000 - 2_000;
      const back = await openedSession(store, 'back', { ...long, owner: shaky });
      await expectUnchanged(store, 'damped', () => store.leases.acquire(acquiring(back)));
      assert.deepEqual(await store.leases.acquire(acquiring(back)), {
        kind: 'refused',
        why: 'damped',
        key: KEY,
        freeInMs: waitMs,
      });
      await advance(waitMs - 1);
      await expectUnchanged(store, 'damped', () => store.leases.acquire(acquiring(back)));
      await advance(1);
      await mustAcquire(store, back);
    },
  },
  {
    upholds: 'G-4',
    policy,
    name: 'a damped owner does not keep others from the key, nor itself from other keys',
    async run(harness) {
      const { store } = harness;
      const steady = await steadyOne(store);
      await loseTo(harness, steady, 3);
      const back = await openedSession(store, 'back', { ...long, owner: shaky });
      // It cannot wait either: a place in the queue would keep others from the key.
      await expectUnchanged(store, 'damped', () =>
        store.leases.acquire(acquiring(back, { wait: true })),
      );
      await mustAcquire(store, back, { key: OTHER_KEY });
      await mustAcquire(store, steady);
    },
  },
  {
    upholds: 'G-4',
    policy,
    name: 'losses far enough apart are forgiven',
    async run(harness) {
      const { store, advance } = harness;
      const steady = await steadyOne(store);
      for (let time = 0; time < 5; time += 1) {
        await loseTo(harness, steady, 1);
        await advance(60_000);
      }
      const back = await openedSession(store, 'back', { ...long, owner: shaky });
      await mustAcquire(store, back);
    },
  },
  {
    upholds: 'G-4',
    policy,
    name: 'exits that a holder declares do not count as losses, however many',
    async run({ store }) {
      const ann = await openedSession(store, 'ann', long);
      for (let time = 0; time < 6; time += 1) {
        const { tenure } = await mustAcquire(store, ann);
        await mustRelease(store, tenure, time % 2 === 0 ? 'failed' : 'abandoned');
      }
      await mustAcquire(store, ann);
    },
  },
  {
    upholds: 'G-4',
    policy: { flapUnitMs: 0 },
    name: 'damping can be turned off',
    async run(harness) {
      const { store } = harness;
      await loseTo(harness, await steadyOne(store), 8);
      const back = await openedSession(store, 'back', { ...long, owner: shaky });
      await mustAcquire(store, back);
    },
  },
  {
    upholds: 'G-4',
    policy,
    name: 'an owner is kept from a key for at most two units, however often it lost the key',
    async run({ store, advance, now }) {
      // The owner follows itself, so that losses come faster than the penalty keeps it out.
      let damped = 0;
      for (let time = 0; time < 12; time += 1) {
        const brief = { owner: shaky, ttlMs: 1_000, graceMs: 0 };
        const who = await openedSession(store, `shaky at ${now()}`, brief);
        const result = await store.leases.acquire(acquiring(who));
        if (result.kind === 'granted') {
          await advance(1_000);
          continue;
        }
        const refused = expectKind(result, 'refused');
        assert(refused.why === 'damped');
        assert.ok(refused.freeInMs <= 120_000, `${refused.freeInMs} ms is too long`);
        damped += 1;
        await advance(refused.freeInMs);
      }
      assert.ok(damped > 0);
    },
  },
];
