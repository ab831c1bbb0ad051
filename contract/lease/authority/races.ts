import assert from 'node:assert/strict';
import type { LeaseKey } from '../../../src/lease/names.ts';
import type { KernelStore } from '../../../src/lease/port.ts';
import { type Random, seededRandom } from '../../../src/support/random.ts';
import type { ContractCase } from '../contract-case.ts';
import { allEvents, expectKind, whyOf } from '../expect.ts';
import {
  acquiring,
  beginning,
  KEY,
  keyOf,
  mustAcquire,
  mustRelease,
  type OpenedSession,
  OTHER_KEY,
  openedSession,
  revoking,
  saving,
  several,
} from '../opened-session.ts';

const needs = 'two-clients';
const long = { ttlMs: 3_600_000, graceMs: 0 };

/** Takes the key from its holder by force and gives it to another session. */
async function takeOver(
  store: KernelStore,
  key: LeaseKey,
  who: OpenedSession,
): ReturnType<typeof mustAcquire> {
  const { record } = await store.leases.inspect(key);
  assert(record !== undefined);
  expectKind(await store.leases.revoke(revoking({ key, fence: record.fence })), 'revoked');
  return mustAcquire(store, who, { key });
}

export const raceCases: readonly ContractCase[] = [
  {
    upholds: 'K-1, T-7, A-1',
    needs,
    name: 'the successor sees every checkpoint that was acknowledged as saved, however close the takeover',
    async run({ store, another }) {
      const other = await another();
      const bob = await openedSession(store, 'bob', long);
      for (let round = 0; round < 4; round += 1) {
        const key = keyOf(`round ${round}`);
        const ann = await openedSession(store, `ann ${round}`, long);
        const { tenure } = await mustAcquire(store, ann, { key });
        const seqs = Array.from({ length: 16 }, (_, index) => index + 1);
        const [taken, ...results] = await Promise.all([
          takeOver(other, key, bob),
          ...seqs.map((seq) => store.leases.checkpoint(saving(tenure, seq))),
        ]);
        const saved = seqs.filter((_, index) => results[index]?.kind === 'saved');
        assert.equal(taken.checkpoint?.seq ?? 0, Math.max(0, ...saved));
      }
    },
  },
  {
    upholds: 'K-6, T-7, A-1',
    needs,
    name: 'the successor sees every effect that was acknowledged as begun, however close the takeover',
    async run({ store, another }) {
      const other = await another();
      const ann = await openedSession(store, 'ann', long);
      const bob = await openedSession(store, 'bob', long);
      const { tenure } = await mustAcquire(store, ann);
      const effects = Array.from({ length: 16 }, (_, number) => `effect ${number}`);
      const [taken, ...results] = await Promise.all([
        takeOver(other, KEY, bob),
        ...effects.map((effect) => store.leases.beginIntent(beginning(tenure, effect))),
      ]);
      const begun = effects.filter((_, index) => results[index]?.kind === 'begun');
      assert.deepEqual(taken.intents.map(({ effect }) => effect as string).sort(), begun.sort());
    },
  },
  {
    upholds: 'S-1, A-1',
    needs,
    name: 'a grant that races the end of its own session leaves nothing held',
    async run({ store, another }) {
      const other = await another();
      for (let round = 0; round < 6; round += 1) {
        const ann = await openedSession(store, `ann ${round}`);
        const key = keyOf(`round ${round}`);
        const by = { kind: 'owner', owner: ann.owner, exit: 'finished' } as const;
        const [result, ended] = await Promise.all([
          store.leases.acquire(acquiring(ann, { key })),
          other.sessions.end({ id: ann.id, by }),
        ]);
        expectKind(ended, 'ended');
        assert.ok(['granted', 'session-ended'].includes(whyOf(result)), whyOf(result));
        assert.equal((await store.leases.inspect(key)).state, 'free');
      }
    },
  },
  {
    upholds: 'A-7',
    needs,
    name: 'when all waiters ask at once, the first in the queue gets the key',
    async run({ store, another }) {
      const other = await another();
      const ann = await openedSession(store, 'ann', long);
      const { tenure } = await mustAcquire(store, ann);
      const people = await several(store, 'waiter', { count: 5, ...long });
      const requests = people.map((who) => acquiring(who, { wait: true }));
      for (const request of requests) await store.leases.acquire(request);
      await mustRelease(store, tenure);
      for (const [turn, first] of requests.entries()) {
        const results = await Promise.all(
          requests
            .slice(turn)
            .map((request, lane) => (lane % 2 === 0 ? other : store).leases.acquire(request)),
        );
        assert.deepEqual(
          results.map(({ kind }) => kind),
          results.map((_, place) => (place === 0 ? 'granted' : 'queued')),
        );
        const { fence } = expectKind(results[0] ?? { kind: 'nothing' as const }, 'granted');
        await mustRelease(store, { key: KEY, fence, session: first.session });
      }
    },
  },
  {
    upholds: 'A-7, A-1',
    needs,
    name: 'newcomers that race a release do not overtake a waiter',
    async run({ store, another }) {
      const other = await another();
      const ann = await openedSession(store, 'ann', long);
      const { tenure } = await mustAcquire(store, ann);
      const waiter = await openedSession(store, 'waiter', long);
      const waiting = acquiring(waiter, { wait: true });
      expectKind(await store.leases.acquire(waiting), 'queued');
      const newcomers = await several(store, 'newcomer', { count: 6 });
      const [, ...results] = await Promise.all([
        store.leases.release({ ...tenure, exit: 'finished' }),
        ...newcomers.map((who, lane) =>
          (lane % 2 === 0 ? other : store).leases.acquire(acquiring(who)),
        ),
      ]);
      assert.deepEqual(
        results.filter(({ kind }) => kind !== 'refused'),
        [],
      );
      expectKind(await store.leases.acquire(waiting), 'granted');
    },
  },
  {
    upholds: 'T-3, T-4',
    needs,
    name: 'when grants and raises of the epoch race, no fence is issued twice',
    async run({ store, another }) {
      const other = await another();
      const ann = await openedSession(store, 'ann', long);
      const reason = { actor: 'olga', reason: 'to be sure' };
      const fences: number[] = [];
      for (let round = 0; round < 5; round += 1) {
        const results = await Promise.all([
          ...Array.from({ length: 6 }, (_, number) =>
            (number % 2 === 0 ? store : other).leases.acquire(
              acquiring(ann, { key: keyOf(`part ${round} ${number}`) }),
            ),
          ),
          store.raiseEpoch(reason),
          other.raiseEpoch(reason),
        ]);
        fences.push(...results.flatMap((each) => (each.kind === 'granted' ? [each.fence] : [])));
      }
      assert.equal(new Set(fences).size, 30);
    },
  },
  {
    upholds: 'A-1, E-3, O-1',
    needs,
    policy: { flapUnitMs: 0, breakerSharePercent: 100 },
    name: 'under every kind of request at once, each key has one holder at a time and each term one end',
    async run({ store, another, advance }) {
      const clients = [store, await another()];
      const random = seededRandom(17);
      const keys = [KEY, OTHER_KEY, keyOf('orders/19')];
      for (let round = 0; round < 15; round += 1) {
        const people = await several(store, `round ${round}`, { count: 4, ttlMs: 300 });
        await Promise.all(
          people.map((who, lane) => oneLife(clients[lane % 2] ?? store, who, { keys, random })),
        );
        await advance(Math.floor(random.next() * 400));
        await Promise.all(clients.map((client) => client.sessions.sweep({ limit: 3 })));
      }
      await advance(1_000);
      for (let more = true; more; ) more = (await store.sessions.sweep({ limit: 10 })).more;
      for (const key of keys) await assertTurns(store, key);
    },
  },
];

/** Takes a key, works a little, and exits in a random way, or dies. */
async function oneLife(
  store: KernelStore,
  who: OpenedSession,
  world: { readonly keys: readonly LeaseKey[]; readonly random: Random },
): Promise<void> {
  const { keys, random } = world;
  const key = keys[Math.floor(random.next() * keys.length)] ?? KEY;
  const result = await store.leases.acquire(acquiring(who, { key, wait: random.next() < 0.3 }));
  await store.sessions.heartbeat(who);
  if (result.kind !== 'granted') return;
  const tenure = { key, fence: result.fence, session: who.id };
  await store.leases.checkpoint(saving(tenure, (result.checkpoint?.seq ?? 0) + 1));
  const fate = random.next();
  if (fate < 0.3) await store.leases.release({ ...tenure, exit: 'yielded' });
  else if (fate < 0.5) await store.leases.revoke(revoking(tenure));
  else if (fate < 0.7) {
    const by = { kind: 'owner', owner: who.owner, exit: 'failed' } as const;
    await store.sessions.end({ id: who.id, by });
  }
}

async function assertTurns(store: KernelStore, key: LeaseKey): Promise<void> {
  const story: string[] = [];
  const fences: number[] = [];
  for (const event of await allEvents(store)) {
    if (event.kind !== 'acquired' && event.kind !== 'ended') continue;
    if (event.key !== key) continue;
    story.push(event.kind);
    fences.push(event.fence);
  }
  assert.ok(story.length > 0 && story.length % 2 === 0, 'every term must have ended');
  assert.deepEqual(
    story,
    story.map((_, index) => (index % 2 === 0 ? 'acquired' : 'ended')),
  );
  const pairs = fences.filter((_, index) => index % 2 === 0).flatMap((fence) => [fence, fence]);
  assert.deepEqual(fences, pairs, 'an end must belong to the grant before it');
  assert.deepEqual(
    fences,
    [...fences].sort((a, b) => a - b),
  );
}
