// Every recipe on every store, while its server is away for twice the ttl. Full runs only:
// src/recipes/outage.test.ts shows the same of the kernel on a manual clock, in milliseconds.

import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type LeaseService, openSession } from '../../src/index.ts';
import { elect, pool, registry, type Term, withLease } from '../../src/recipes/index.ts';
import { openStoreAt, type StoreAddress } from '../processes/stage/store-address.ts';
import { until } from '../processes/stage/until.ts';
import { startEtcd } from '../services/etcd.ts';
import { startPostgres } from '../services/postgres.ts';
import { recoveryBoundMs, waitedForCpuMs } from '../services/recovery-bound.ts';
import { FLUSHED_ALWAYS, startRedis } from '../services/redis.ts';
import { freshSqliteFile } from '../services/sqlite-file.ts';
import { isExcluded } from '../services/tier.ts';

const TTL_MS = 4_000;
const OUTAGE_MS = 8_000;
const FLEET = 12;
const KEYS = Array.from({ length: 10 }, (_, number) => `partition-${number}`);

interface Server {
  readonly address: StoreAddress;
  /** Away for this long. Resolves when it is back. */
  beAway(ms: number): Promise<void>;
  stop(): Promise<void>;
}

const SERVERS: Readonly<Record<string, () => Promise<Server>>> = {
  async sqlite() {
    const { file, remove } = await freshSqliteFile();
    return {
      address: { kind: 'sqlite', file },
      // A file has no server; a process that keeps it locked acts like one that does not respond.
      async beAway(ms) {
        const locking = new DatabaseSync(file);
        locking.exec('begin exclusive');
        await pause(ms);
        locking.exec('rollback');
        locking.close();
      },
      stop: remove,
    };
  },
  async postgres() {
    const postgres = await startPostgres();
    return {
      address: { kind: 'postgres', url: postgres.url, schema: 'outage' },
      beAway: (ms) => postgres.restart('immediate', () => pause(ms)),
      stop: () => postgres.stop(),
    };
  },
  async redis() {
    const redis = await startRedis(FLUSHED_ALWAYS);
    return {
      address: { kind: 'redis', url: redis.url, namespace: 'outage' },
      async beAway(ms) {
        await redis.kill();
        await pause(ms);
        await redis.start();
      },
      stop: () => redis.stop(),
    };
  },
  async etcd() {
    const etcd = await startEtcd({ members: 1 });
    return {
      address: { kind: 'etcd', endpoints: etcd.endpoints, prefix: 'outage/' },
      async beAway(ms) {
        await etcd.kill(0);
        await pause(ms);
        await etcd.restart(0);
      },
      stop: () => etcd.stop(),
    };
  },
};

/** Something that works, is interrupted by the outage, and must work again. */
interface Subject {
  works(): Promise<boolean> | boolean;
  stop(): Promise<unknown>;
}

async function untilAborted({ signal }: Term): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

const SUBJECTS: Readonly<Record<string, (store: LeaseService) => Promise<Subject> | Subject>> = {
  [`${FLEET} leaders, each of its own`]: (store) =>
    electing(store, (number) => `own-${number}`, FLEET),
  'one leader of several candidates': (store) => electing(store, () => 'scheduler', 1),
  pool(store) {
    const members = Array.from({ length: 3 }, (_, number) =>
      pool(
        { store, owner: `pool-${number}`, name: 'orders', keys: KEYS, ttlMs: TTL_MS },
        untilAborted,
      ),
    );
    return {
      works: () => new Set(members.flatMap(({ held }) => held)).size === KEYS.length,
      stop: () => Promise.all(members.map((member) => member.stop())),
    };
  },
  'withLease, with waits that time out': (store) => leasing(store),
  async registry(store) {
    const members = registry({ store, service: 'billing' });
    const sessions = await Promise.all(
      Array.from({ length: 3 }, (_, number) =>
        members.register({ owner: `member-${number}`, ttlMs: TTL_MS }),
      ),
    );
    return {
      async works() {
        const seen = await members.list().catch(() => []);
        return seen.length === 3 && seen.every(({ state }) => state === 'live');
      },
      stop: () => Promise.all(sessions.map((session) => session.close())),
    };
  },
};

function electing(store: LeaseService, name: (number: number) => string, leaders: number): Subject {
  const elections = Array.from({ length: FLEET }, (_, number) =>
    elect({ store, owner: `host-${number}`, name: name(number), ttlMs: TTL_MS }, untilAborted),
  );
  return {
    works: () => elections.filter(({ state }) => state === 'leading').length === leaders,
    stop: () => Promise.all(elections.map((election) => election.stop())),
  };
}

async function leasing(store: LeaseService): Promise<Subject> {
  const stop = new AbortController();
  let lastAt = Number.NEGATIVE_INFINITY;
  const loop = async (owner: string): Promise<void> => {
    const session = await openSession({ store, owner, ttlMs: TTL_MS });
    while (!stop.signal.aborted) {
      const options = { session, key: 'report', wait: true, timeoutMs: 2_000 };
      const outcome = await withLease(options, () => pause(100));
      if (outcome.kind === 'done') lastAt = performance.now();
      await pause(20);
    }
    await session.close();
  };
  const loops = ['ann', 'bob', 'carol'].map(loop);
  return {
    works: () => performance.now() - lastAt < 500,
    stop: () => {
      stop.abort();
      return Promise.all(loops);
    },
  };
}

async function showRecovery(server: Server, t: TestContext): Promise<void> {
  const store = await openStoreAt(server.address);
  const subjects = await Promise.all(
    Object.entries(SUBJECTS).map(async ([name, start]) => ({ name, ...(await start(store)) })),
  );
  try {
    await showThatAllRecover(server, subjects, t);
  } finally {
    await Promise.all(subjects.map(({ stop }) => stop()));
    await store.close();
  }
}

async function showThatAllRecover(
  server: Server,
  subjects: readonly (Subject & { readonly name: string })[],
  t: TestContext,
): Promise<void> {
  for (const { name, works } of subjects) await until(`${name} works`, works);
  await server.beAway(OUTAGE_MS);
  const backAt = performance.now();
  const waitedBefore = waitedForCpuMs();
  const took = await Promise.all(
    subjects.map(async ({ name, works }) => {
      await until(`${name} works again`, works);
      const waitedMs = Math.round(waitedForCpuMs() - waitedBefore);
      return { name, ms: Math.round(performance.now() - backAt), waitedMs };
    }),
  );
  for (const { name, ms, waitedMs } of took) {
    t.diagnostic(`${name}: ${ms} ms, ${waitedMs} of them waiting for a CPU`);
  }
  for (const { name, ms, waitedMs } of took) {
    assert.ok(ms - waitedMs <= recoveryBoundMs(TTL_MS), `${name} took ${ms} ms`);
  }
}

for (const [name, start] of Object.entries(SERVERS).filter(([each]) => !isExcluded(each))) {
  describe(`an outage of ${OUTAGE_MS} ms with a ttl of ${TTL_MS} ms on ${name}`, () => {
    let server: Server | undefined;
    after(() => server?.stop());
    test('E-4: every recipe works again within the ttl and two seconds of its end', async (t) => {
      server = await start();
      await showRecovery(server, t);
    });
  });
}
