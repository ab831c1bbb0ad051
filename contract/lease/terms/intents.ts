import assert from 'node:assert/strict';
import type { ContractCase } from '../contract-case.ts';
import { expectKind, expectUnchanged, unchangedBy, whyOf } from '../expect.ts';
import {
  beginning,
  KEY,
  mustAcquire,
  mustBeat,
  mustRelease,
  mustSave,
  openedSession,
} from '../opened-session.ts';

export const intentCases: readonly ContractCase[] = [
  {
    upholds: 'K-6, A-1',
    name: 'an effect that was begun and not settled reaches the successor, with fence, time and note',
    async run({ store, advance, now }) {
      const ann = await openedSession(store, 'ann');
      const { tenure, fence } = await mustAcquire(store, ann);
      const begunAt = now();
      const intent = { ...beginning(tenure, 'charge:17'), note: 'card ending 42' };
      assert.deepEqual(await store.leases.beginIntent(intent), { kind: 'begun', replayed: false });
      await advance(10_000);
      const bob = await openedSession(store, 'bob');
      const { intents } = await mustAcquire(store, bob);
      assert.deepEqual(intents, [
        { effect: intent.effect, fence, begunAt, note: 'card ending 42' },
      ]);
    },
  },
  {
    upholds: 'K-6',
    name: 'a settled effect is not shown to the successor',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      await store.leases.beginIntent(beginning(tenure, 'one'));
      await store.leases.beginIntent(beginning(tenure, 'two'));
      assert.deepEqual(await store.leases.settleIntent(beginning(tenure, 'one')), {
        kind: 'settled',
        wasOpen: true,
      });
      await mustRelease(store, tenure, 'failed');
      const { intents } = await mustAcquire(store, ann);
      assert.deepEqual(
        intents.map(({ effect }) => effect),
        ['two'],
      );
    },
  },
  {
    upholds: 'K-6, U-2',
    name: 'beginning the same effect again in the same term succeeds and changes nothing',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      await store.leases.beginIntent(beginning(tenure, 'pay'));
      await advance(10);
      const again = await unchangedBy(store, () =>
        store.leases.beginIntent(beginning(tenure, 'pay')),
      );
      assert.deepEqual(again, { kind: 'begun', replayed: true });
    },
  },
  {
    upholds: 'K-6',
    name: 'an effect that the predecessor began must be settled before it can be begun again',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const first = await mustAcquire(store, ann);
      await store.leases.beginIntent(beginning(first.tenure, 'pay'));
      await mustRelease(store, first.tenure, 'failed');
      const { tenure } = await mustAcquire(store, ann);
      const intent = beginning(tenure, 'pay');
      await expectUnchanged(store, 'intent-open', () => store.leases.beginIntent(intent));
      assert.deepEqual(await store.leases.beginIntent(intent), {
        kind: 'refused',
        why: 'intent-open',
        effect: intent.effect,
        fence: first.fence,
      });
      assert.equal(expectKind(await store.leases.settleIntent(intent), 'settled').wasOpen, true);
      assert.equal(expectKind(await store.leases.beginIntent(intent), 'begun').replayed, false);
    },
  },
  {
    upholds: 'K-6, U-2',
    name: 'settling an effect that is not open succeeds and returns that it was not open',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      await store.leases.beginIntent(beginning(tenure, 'pay'));
      await store.leases.settleIntent(beginning(tenure, 'pay'));
      const again = await unchangedBy(store, () =>
        store.leases.settleIntent(beginning(tenure, 'pay')),
      );
      assert.deepEqual(again, { kind: 'settled', wasOpen: false });
    },
  },
  {
    upholds: 'K-6',
    policy: { intentsMax: 2 },
    name: 'a key keeps as many open effects as the policy allows, and settling one makes room',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      const { leases } = store;
      for (const effect of ['one', 'two']) {
        expectKind(await leases.beginIntent(beginning(tenure, effect)), 'begun');
      }
      const third = beginning(tenure, 'three');
      await expectUnchanged(store, 'intents-full', () => leases.beginIntent(third));
      const repeated = await leases.beginIntent(beginning(tenure, 'two'));
      assert.equal(expectKind(repeated, 'begun').replayed, true);
      await leases.settleIntent(beginning(tenure, 'one'));
      expectKind(await leases.beginIntent(third), 'begun');
    },
  },
  {
    upholds: 'K-6',
    name: 'open effects outlive checkpoints, clean exits and several terms until a holder settles them',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const first = await mustAcquire(store, ann);
      await store.leases.beginIntent(beginning(first.tenure, 'pay'));
      await mustSave(store, first.tenure, 1);
      await mustRelease(store, first.tenure, 'finished');
      const second = await mustAcquire(store, ann);
      await mustRelease(store, second.tenure, 'yielded');
      const third = await mustAcquire(store, ann);
      assert.deepEqual(
        third.intents.map(({ effect, fence }) => [effect, fence]),
        [['pay', first.fence]],
      );
    },
  },
  {
    upholds: 'K-6, K-4',
    name: 'a lapsed holder can neither begin nor settle, and can after a rejoin',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      await store.leases.beginIntent(beginning(tenure, 'pay'));
      await advance(8_000);
      const { leases } = store;
      await expectUnchanged(store, 'lapsed', () => leases.beginIntent(beginning(tenure, 'mail')));
      await expectUnchanged(store, 'lapsed', () => leases.settleIntent(beginning(tenure, 'pay')));
      await mustBeat(store, ann);
      expectKind(await leases.settleIntent(beginning(tenure, 'pay')), 'settled');
    },
  },
  {
    upholds: 'K-6',
    policy: { intentsMax: 4 },
    needs: 'two-clients',
    name: 'effects begun at once are all kept up to the limit, and never one more',
    async run({ store, another }) {
      const other = await another();
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      const results = await Promise.all(
        Array.from({ length: 10 }, (_, number) =>
          (number % 2 === 0 ? store : other).leases.beginIntent(
            beginning(tenure, `effect ${number}`),
          ),
        ),
      );
      const whys = results.map(whyOf);
      assert.equal(whys.filter((why) => why === 'begun').length, 4);
      assert.equal(whys.filter((why) => why === 'intents-full').length, 6);
      assert.equal((await store.leases.inspect(KEY)).record?.intents.length, 4);
    },
  },
];
