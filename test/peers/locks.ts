import assert from 'node:assert/strict';
import { InvalidInput, openSession, parseLeaseKey, type Session } from '../../src/index.ts';
import { withLease, withPermits } from '../../src/recipes/index.ts';
import type { Stage } from '../engine/stage.ts';
import {
  type Case,
  cited,
  lease,
  missing,
  played,
  type Scenario,
  type Suite,
  shown,
} from './scenario.ts';

/** Plays a case with sessions of two processes. */
function withSessions(play: (ann: Session, bob: Session, stage: Stage) => Promise<void>): Case {
  return async (stage) => {
    const open = (owner: string) => openSession({ store: stage.store, owner, ttlMs: 5_000 });
    const [ann, bob] = [await open('ann'), await open('bob')];
    try {
      await play(ann, bob, stage);
    } finally {
      await ann.close();
      await bob.close();
    }
  };
}

/** Both keys or none: nested, in the order of their names. */
async function withBoth<Value>(
  session: Session,
  keys: readonly string[],
  work: () => Promise<Value>,
): Promise<string> {
  const [first = '', second = ''] = keys.toSorted();
  const outer = await withLease({ session, key: first }, async () => {
    const inner = await withLease({ session, key: second }, work);
    return inner.kind;
  });
  return outer.kind === 'done' ? outer.value : outer.kind;
}

const ETCD: readonly Scenario[] = [
  cited(
    'etcd TestMutexLockSingleNode, MultiNode',
    '`session.acquire(key, { wait: true })`',
    lease('terms/queue', 'waiters are served in the order they came'),
  ),
  cited(
    'etcd TestMutexTryLock*',
    '`session.acquire(key)` returns `refused` at once',
    lease(
      'terms/queue',
      'an acquire without wait is refused at once and leaves no place in the queue',
    ),
  ),
  missing(
    'etcd TestMutexSessionRelock',
    'A session does not get a key twice. Use the lease that it has.',
  ),
  played(
    'etcd TestMutexLockSessionExpired',
    'a waiter whose session is closed gets `cancelled`, or `refused` by the store',
    withSessions(async (ann, bob) => {
      await ann.acquire('k');
      const waiting = bob.acquire('k', { wait: true });
      await bob.close();
      assert.match((await waiting).kind, /^(cancelled|refused)$/);
    }),
  ),
  missing(
    'etcd TestMutexUnlock (twice is an error)',
    'A second `release` returns `released` again, so that it can stand in a `finally`.',
  ),
  cited(
    'etcd TestMutexWaitsOnCurrentHolder',
    '`acquire(key, { wait: true })`: the first in the queue is next',
    lease('terms/queue', 'a newcomer does not overtake the queue though the key is free'),
  ),
  cited(
    'etcd TestRWMutexSingleNode, MultiNode',
    '`withReadLock`, `withWriteLock`',
    shown(
      'recipes/semaphore',
      'readers share a lock, writers do not, and guards order the writers',
    ),
  ),
  cited(
    'etcd TestElectionWait, TestElectionFailover',
    '`elect({ store, owner, name }, work)`',
    shown('recipes/elect', 'when the leader is killed a standby leads within the ttl and 2 s'),
    shown('recipes/elect', 'a leader that stops finishes its work before the standby begins'),
  ),
  played(
    'etcd TestElectionSessionRecampaign, Proclaim',
    '`lease.checkpoint(value)`; others read it with `store.leases.inspect(key)`',
    withSessions(async (ann, bob, { store }) => {
      const proclaim = async (session: Session, value: string) => {
        const got = await session.acquire('leader');
        assert.ok(got.kind === 'acquired');
        assert.equal((await got.lease.checkpoint(value)).kind, 'saved');
        const { record } = await store.leases.inspect(parseLeaseKey('leader'));
        assert.equal(String(Buffer.from(record?.checkpoint?.bytes ?? [])), value);
        return got.lease;
      };
      await (await proclaim(ann, 'from ann')).release('yielded');
      await proclaim(bob, 'from bob');
    }),
  ),
  missing(
    'etcd TestElectionObserveFreshResponsesOnProclaim',
    'A watch reports grants and ends, not checkpoints. Read the checkpoint again.',
  ),
  cited(
    'etcd TestElectionOnPrefixOfExistingKey',
    'nothing to write: keys are compared as a whole',
    lease(
      'terms/acquire',
      'keys are compared byte by byte: case, spaces, wildcards and quotes are only text',
    ),
  ),
  missing(
    'etcd TestElectionOnSessionRestart',
    'A restarted process cannot take up its old session. It waits for the ttl.',
  ),
  cited(
    'etcd TestV3LeaseExpire, KeepAlive, TimeToLive',
    '`openSession({ ttlMs })` sends heartbeats; `lease.remainingMs()`',
    lease('sessions/heartbeat', 'a heartbeat extends the session to a whole ttl from now'),
    lease('sessions/expiry', 'from its expiry on a lease is shown as expired'),
    lease(
      'authority/inspect',
      'a lease is shown as held, lapsed and expired at exactly the store’s times',
    ),
  ),
  cited(
    'etcd TestV3LeaseRevoke',
    '`revokeLease(store, { key, actor, reason })`',
    lease('terms/revoke', 'a revoke ends the term now: the holder’s next write is refused'),
  ),
  cited(
    'etcd TestLeaseLeases, TestLeaseGrantAndList',
    '`store.leases.list`, `store.sessions.list`; `holdfast lease list`',
    lease('authority/list', 'leases are listed by prefix, in byte order, page by page, each once'),
    lease(
      'authority/inspect',
      'sessions are listed page by page, without ended ones unless requested',
    ),
  ),
  played(
    'etcd TestLeaseGrantNewAfterClose, RevokeNewAfterClose',
    '`acquire` on a closed session returns `cancelled`',
    withSessions(async (ann) => {
      await ann.close();
      assert.equal((await ann.acquire('k')).kind, 'cancelled');
    }),
  ),
  cited(
    'etcd TestV3LeaseGrantByID, many keys under one lease',
    'a session holds many leases, and one heartbeat renews them',
    lease('sessions/heartbeat', 'one heartbeat renews every lease of the session'),
    lease('sessions/end-session', 'the end of a session frees all its leases in the same instant'),
  ),
];

const REDIS: readonly Scenario[] = [
  cited(
    'redlock: acquires, extends, and releases a single lock',
    '`session.acquire(key)`: heartbeats extend it',
    lease('sessions/heartbeat', 'one heartbeat renews every lease of the session'),
    lease('terms/release', 'a released key is free for any session in the same instant'),
  ),
  played(
    'redlock: acquires, extends, and releases a multi-resource lock',
    'nested `withLease`, in the order of the keys; each key has its own fence',
    withSessions(async (ann, bob, { store }) => {
      const state = async (key: string) => (await store.leases.inspect(parseLeaseKey(key))).state;
      await withBoth(ann, ['b', 'a'], async () => {
        assert.deepEqual([await state('a'), await state('b')], ['held', 'held']);
      });
      assert.equal(await withBoth(bob, ['a', 'b'], async () => undefined), 'done');
    }),
  ),
  played(
    'redlock: overlapping multi-locks are exclusive',
    'nested `withLease`; if the second key is refused, the first is released',
    withSessions(async (ann, bob, { store }) => {
      await withBoth(ann, ['b', 'c'], async () => {
        assert.equal(await withBoth(bob, ['a', 'b'], async () => undefined), 'refused');
        const { state } = await store.leases.inspect(parseLeaseKey('a'));
        assert.equal(state, 'free');
      });
    }),
  ),
  cited(
    'redlock: locks fail when redis is unreachable',
    'the outcome is `unavailable` or `unknown`; authority ends by the clock of the holder',
    {
      file: 'src/lease/live-session.test.ts',
      name: 'while the store is out of reach, authority ends before',
    },
    {
      file: 'src/lease/acquire-lease.test.ts',
      name: 'a grant that arrives after its caller gave up is given back',
    },
  ),
  played(
    'redlock: the using helper acquires, extends, and releases; is exclusive',
    '`withLease({ session, key }, work)`',
    withSessions(async (ann, bob) => {
      const outcome = await withLease({ session: ann, key: 'k' }, async ({ lease: held }) => {
        held.assertHeld(100);
        return (await bob.acquire('k')).kind;
      });
      assert.deepEqual(outcome.kind === 'done' && outcome.value, 'refused');
      assert.equal((await bob.acquire('k')).kind, 'acquired');
    }),
  ),
  played('redlock: refuses to use a non-integer duration', '`InvalidInput`', async ({ store }) => {
    await assert.rejects(openSession({ store, owner: 'ann', ttlMs: 1.5 }), InvalidInput);
  }),
  played(
    'redis-semaphore Mutex: reject after timeout; abort by signal',
    '`acquire(key, { wait: true, timeoutMs, signal })`',
    withSessions(async (ann, bob) => {
      await ann.acquire('k');
      const inTime = await bob.acquire('k', { wait: true, timeoutMs: 30 });
      assert.equal(inTime.kind, 'timed-out');
      const stop = new AbortController();
      const waiting = bob.acquire('k', { wait: true, signal: stop.signal });
      stop.abort();
      assert.equal((await waiting).kind, 'cancelled');
    }),
  ),
  cited(
    'redis-semaphore Mutex: onLockLost when another instance acquired, expired',
    '`lease.signal` aborts with the reason',
    lease(
      'terms/revoke',
      'a revoke takes one lease: the session lives, keeps its others and gets a notice',
    ),
    {
      file: 'src/lease/live-session.test.ts',
      name: 'a revoked lease is gone for its holder after the next heartbeat',
    },
    {
      file: 'src/lease/live-session.test.ts',
      name: 'the loss of a session is reported once and reaches every lease',
    },
  ),
  cited(
    'redis-semaphore Mutex: should be reusable',
    '`acquire` again after `release`',
    lease('terms/release', 'a released key is free for any session in the same instant'),
  ),
  missing(
    'redis-semaphore Mutex: externally acquired (identifier handed to another process)',
    'A lease cannot be handed to another process with its fence.',
  ),
  played(
    'redis-semaphore Semaphore: acquire maximum LIMIT; reject after timeout',
    '`withPermits({ session, name, permits, timeoutMs }, work)`',
    withSessions(async (ann, bob) => {
      const slots = { name: 'slots', permits: 2 };
      const outcome = await withPermits({ ...slots, session: ann, weight: 2 }, async () => {
        const late = { ...slots, session: bob, timeoutMs: 30 };
        return (await withPermits(late, async () => undefined)).kind;
      });
      assert.equal(outcome.kind === 'done' && outcome.value, 'timed-out');
    }),
  ),
  cited(
    'redis-semaphore MultiSemaphore: permits',
    '`withPermits({ session, name, permits, weight }, work)`',
    shown(
      'recipes/semaphore',
      'permits go to callers in their order, and a large caller is not overtaken',
    ),
  ),
];

export const LOCKS: Suite = {
  id: 'locks',
  name: 'lock libraries',
  scenarios: [...ETCD, ...REDIS],
};
