import assert from 'node:assert/strict';
import type { KernelStore, Tenure } from '../../../src/lease/port.ts';
import type { Refusal } from '../../../src/lease/refusal.ts';
import type { ContractCase } from '../contract-case.ts';
import { expectKind, expectUnchanged } from '../expect.ts';
import {
  beginning,
  KEY,
  keyOf,
  mustAcquire,
  mustBeat,
  mustRelease,
  mustSave,
  OTHER_KEY,
  openedSession,
  ownerOf,
  saving,
  sessionIdOf,
} from '../opened-session.ts';

type Write = (store: KernelStore, tenure: Tenure) => Promise<{ readonly kind: string }>;

/** Every write of a holder. Each is conditioned on key, fence and session, each separately. */
const writes: Readonly<Record<string, Write>> = {
  checkpoint: (store, tenure) => store.leases.checkpoint(saving(tenure, 99, 'forged')),
  beginIntent: (store, tenure) => store.leases.beginIntent(beginning(tenure, 'forged')),
  settleIntent: (store, tenure) => store.leases.settleIntent(beginning(tenure, 'pay')),
  release: (store, tenure) => store.leases.release({ ...tenure, exit: 'finished' }),
};

/**
 * Ann holds the key in her second term, with a checkpoint and an open intent that a forger could
 * destroy.
 */
async function heldByAnn(
  store: KernelStore,
): Promise<{ readonly first: Tenure; readonly tenure: Tenure }> {
  const ann = await openedSession(store, 'ann');
  const first = await mustAcquire(store, ann);
  await mustRelease(store, first.tenure, 'yielded');
  const { tenure } = await mustAcquire(store, ann);
  await mustSave(store, tenure, 1);
  expectKind(await store.leases.beginIntent(beginning(tenure, 'pay')), 'begun');
  return { first: first.tenure, tenure };
}

interface Forgery {
  readonly upholds: string;
  readonly what: string;
  readonly why: Refusal['why'];
  forge(store: KernelStore, known: { first: Tenure; tenure: Tenure }): Promise<Tenure>;
}

const forgeries: readonly Forgery[] = [
  {
    upholds: 'T-6',
    what: 'with the right fence from another session of the same owner',
    why: 'not-yours',
    async forge(store, { tenure }) {
      const second = await openedSession(store, 'twin', { owner: ownerOf('ann') });
      return { ...tenure, session: second.id };
    },
  },
  {
    upholds: 'T-6',
    what: 'with the right fence from a session that does not exist',
    why: 'not-yours',
    forge: async (_, { tenure }) => ({ ...tenure, session: sessionIdOf('ghost') }),
  },
  {
    upholds: 'T-6, T-7',
    what: 'from the right session with the fence of its earlier term',
    why: 'superseded',
    forge: async (_, { first }) => first,
  },
  {
    upholds: 'T-6',
    what: 'from the right session with the fence of another key it holds',
    why: 'superseded',
    async forge(store, { tenure }) {
      const ann = { id: tenure.session, owner: ownerOf('ann') };
      const other = await mustAcquire(store, ann, { key: OTHER_KEY });
      return { ...tenure, fence: other.fence };
    },
  },
  {
    upholds: 'T-6',
    what: 'with the right fence and session on a key that was never held',
    why: 'key-unknown',
    forge: async (_, { tenure }) => ({ ...tenure, key: keyOf('never') }),
  },
  {
    upholds: 'T-6',
    what: 'with fence and session both of another holder’s key',
    why: 'superseded',
    async forge(store) {
      const bob = await openedSession(store, 'bob');
      const { tenure } = await mustAcquire(store, bob, { key: OTHER_KEY });
      return { ...tenure, key: KEY };
    },
  },
];

function forgeryCase({ upholds, what, why, forge }: Forgery): ContractCase {
  return {
    upholds,
    name: `no write is accepted ${what}, and nothing stored changes`,
    async run({ store }) {
      const known = await heldByAnn(store);
      const forged = await forge(store, known);
      for (const write of Object.values(writes)) {
        await expectUnchanged(store, why, () => write(store, forged));
      }
      assert.equal((await store.leases.verify(known.tenure)).kind, 'current');
      await mustSave(store, known.tenure, 2);
    },
  };
}

function endedCase(what: string, why: Refusal['why'], ms: number): ContractCase {
  return {
    upholds: 'T-6, K-4',
    name: `no write of a holder is accepted once its session has ${what}, and nothing stored changes`,
    async run({ store, advance }) {
      const { tenure } = await heldByAnn(store);
      await advance(ms);
      for (const write of Object.values(writes)) {
        await expectUnchanged(store, why, () => write(store, tenure));
      }
    },
  };
}

export const adversarialCases: readonly ContractCase[] = [
  ...forgeries.map(forgeryCase),
  endedCase('lapsed', 'lapsed', 8_000),
  endedCase('expired', 'expired', 10_000),
  {
    upholds: 'T-7, T-6',
    name: 'a replaced holder can do nothing to its successor from the instant of the grant',
    async run({ store, advance }) {
      const { tenure } = await heldByAnn(store);
      await advance(10_000);
      const bob = await openedSession(store, 'bob');
      const held = await mustAcquire(store, bob);
      for (const write of Object.values(writes)) {
        await expectUnchanged(store, 'superseded', () => write(store, tenure));
      }
      const stolen = { ...tenure, fence: held.fence };
      for (const write of Object.values(writes)) {
        await expectUnchanged(store, 'not-yours', () => write(store, stolen));
      }
      const revived = { id: tenure.session, owner: ownerOf('ann') };
      await expectUnchanged(store, 'session-expired', () => store.sessions.heartbeat(revived));
      assert.equal(held.checkpoint?.seq, 1);
      assert.equal((await store.leases.verify(held)).kind, 'current');
    },
  },
  {
    upholds: 'A-8, O-5',
    name: 'quotes, line breaks and scripts in names, causes and notes are kept as they are',
    async run({ store }) {
      const odd = `it's "odd"; -- \n\t\\ \u{1f6a2} ${'x'.repeat(1_500)}`;
      const bob = await openedSession(store, 'bob', { owner: ownerOf(`o'brien "the" \u5c71`) });
      const { tenure } = await mustAcquire(store, bob);
      await store.leases.beginIntent({ ...beginning(tenure, `effect's "id"`), note: odd });
      await store.leases.release({ ...tenure, exit: 'failed', cause: odd });
      const { predecessor, intents } = await mustAcquire(store, bob);
      assert.deepEqual([predecessor.owner, predecessor.cause], [bob.owner, odd]);
      assert.deepEqual([intents[0]?.effect, intents[0]?.note], [`effect's "id"`, odd]);
    },
  },
  {
    upholds: 'O-4',
    name: 'a hint listener that throws does not affect the caller that caused the hint',
    async run({ store }) {
      const stop = store.onHint(() => {
        throw new Error('a listener that is broken');
      });
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      await mustRelease(store, tenure);
      await mustAcquire(store, ann);
      stop();
      stop();
    },
  },
  {
    upholds: 'S-1, R-1',
    name: 'a holder that keeps beating keeps its key, and no other session gets in between',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const held = await mustAcquire(store, ann);
      for (let beat = 0; beat < 30; beat += 1) {
        await advance(9_999);
        await mustBeat(store, ann);
        assert.deepEqual((await store.sessions.sweep({ limit: 10 })).expired, []);
      }
      assert.equal((await store.leases.verify(held)).kind, 'current');
    },
  },
];
