// A store to measure, with the raw floor of the same machine beside it.

import { join } from 'node:path';
import type { KernelStore } from '../../src/lease/port.ts';
import { openEtcdStore } from '../../src/store/etcd/open.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { startEtcd } from '../../test/services/etcd.ts';
import { startPostgres } from '../../test/services/postgres.ts';
import { FLUSHED_ALWAYS, startRedis } from '../../test/services/redis.ts';
import { openEtcdFloor } from '../etcd-floor.ts';
import { type Floor, openPostgresFloor, openRedisFloor, openSqliteFloor } from '../floor.ts';
import type { Settings } from '../report.ts';
import type { StoreKind } from '../suite.ts';

export interface Ground {
  readonly store: KernelStore;
  /** Absent for the memory store, which commits nothing. */
  readonly floor?: Floor;
  readonly settings: Settings;
  close(): Promise<void>;
}

/** What the store takes by default; the floor gets as many. */
const CONNECTIONS = 10;

export async function openGround(kind: StoreKind, folder: string): Promise<Ground> {
  switch (kind) {
    case 'memory':
      return memoryGround();
    case 'sqlite':
      return sqliteGround(folder);
    case 'postgres':
      return postgresGround();
    case 'redis':
      return redisGround();
    case 'etcd':
      return etcdGround();
  }
}

function memoryGround(): Ground {
  const store = openMemoryStore();
  return { store, settings: { durability: store.durability }, close: () => store.close() };
}

async function sqliteGround(folder: string): Promise<Ground> {
  const floor = openSqliteFloor(folder);
  const store = await openSqliteStore({ file: join(folder, 'store.db') });
  demandDurable(store, 'synchronous=FULL');
  return {
    store,
    floor,
    settings: floor.settings,
    close: async () => {
      await store.close();
      await floor.close();
    },
  };
}

async function postgresGround(): Promise<Ground> {
  const server = await startPostgres();
  return groundOn(server, async () => {
    const floor = await openPostgresFloor(server.url, CONNECTIONS);
    const store = await openPostgresStore({ url: server.url, connectionsMax: CONNECTIONS });
    demandDurable(store, 'fsync on, synchronous_commit on');
    return { store, floor };
  });
}

async function redisGround(): Promise<Ground> {
  const server = await startRedis(FLUSHED_ALWAYS);
  return groundOn(server, async () => {
    const floor = await openRedisFloor(server.url);
    const store = await openRedisStore({ url: server.url });
    demandDurable(store, 'appendfsync always');
    return { store, floor };
  });
}

/** The server ends with it, and when it could not be opened. */
async function groundOn(
  server: { stop(): Promise<void> },
  open: () => Promise<Required<Pick<Ground, 'store' | 'floor'>>>,
): Promise<Ground> {
  try {
    const { store, floor } = await open();
    return {
      store,
      floor,
      settings: floor.settings,
      close: async () => {
        await store.close();
        await floor.close();
        await server.stop();
      },
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

async function etcdGround(): Promise<Ground> {
  const cluster = await startEtcd();
  return groundOn(cluster, async () => {
    const { endpoints, version } = cluster;
    const floor = openEtcdFloor(endpoints[await cluster.leader()] ?? '', {
      version,
      members: endpoints.length,
    });
    const store = await openEtcdStore({ endpoints });
    demandDurable(store, 'the loss of any 1 of 3 machines');
    return { store, floor };
  });
}

/** The floor was checked on its own connection; this is what the store found on its own. */
function demandDurable(store: KernelStore, words: string): void {
  if (!store.durability.includes(words)) {
    throw new Error(`Not measured: the ${store.kind} store survives only ${store.durability}.`);
  }
}
