// The stores of the contract suite, set up to answer fast. Other tests cover power cuts, and here
// each second is worth many programs.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ContractBackend, ManualClock } from '../../contract/index.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { toInstant } from '../../src/support/clock.ts';
import { durableHarness } from '../contract/durable-harness.ts';
import { etcdBackend } from '../contract/etcd-backend.ts';
import { redisBackend } from '../contract/redis-backend.ts';
import { etcdForTests } from '../services/etcd.ts';
import { postgresForTests } from '../services/postgres.ts';
import { startRedis } from '../services/redis.ts';
import { fastPostgres } from './fast-postgres.ts';

export const STORES = ['sqlite', 'postgres', 'redis', 'etcd'] as const;
export type StoreName = (typeof STORES)[number];

export interface OpenBackend {
  readonly backend: ContractBackend;
  release(): Promise<void>;
}

export async function openBackend(name: StoreName): Promise<OpenBackend> {
  switch (name) {
    case 'sqlite':
      return { backend: fastSqlite, release: async () => undefined };
    case 'redis': {
      const redis = await startRedis();
      const backend = redisBackend(redis.url);
      return {
        backend,
        async release() {
          await backend.end();
          await redis.stop();
        },
      };
    }
    case 'etcd': {
      const etcd = await etcdForTests();
      return { backend: etcdBackend(etcd), release: () => etcd.release() };
    }
    case 'postgres': {
      const database = await postgresForTests();
      const backend = fastPostgres(database.url);
      return {
        backend,
        async release() {
          await backend.end();
          await database.release();
        },
      };
    }
  }
}

const fastSqlite: ContractBackend = {
  offers: ['durable', 'two-clients', 'host-clock', 'projects'],
  async open(policy) {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-model-'));
    const file = join(folder, 'store.db');
    const clock = new ManualClock();
    return durableHarness({
      openClient: () => openSqliteStore({ file, clock, policy, durability: 'normal' }),
      advance: async (ms) => clock.jumpWall(ms),
      now: () => toInstant(clock.wallMs()),
      dispose: () => rm(folder, { recursive: true, force: true }),
    });
  },
};
