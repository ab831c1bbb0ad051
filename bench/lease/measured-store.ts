// Opens a store to measure, and the raw floor of the same server or disk.

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

export interface MeasuredStore {
  readonly store: KernelStore;
  /** Absent for the memory store, which commits nothing. */
  readonly floor?: Floor;
  readonly settings: Settings;
  close(): Promise<void>;
}

/** The default of the store. The floor has as many. */
const CONNECTIONS = 10;

export async function openMeasuredStore(kind: StoreKind, folder: string): Promise<MeasuredStore> {
  switch (kind) {
    case 'memory':
      return memoryStore();
    case 'sqlite':
      return sqliteStore(folder);
    case 'postgres':
      return postgresStore();
    case 'redis':
      return redisStore();
    case 'etcd':
      return etcdStore();
  }
}

function memoryStore(): MeasuredStore {
  const store = openMemoryStore();
  return { store, settings: { durability: store.durability }, close: () => store.close() };
}

async function sqliteStore(folder: string): Promise<MeasuredStore> {
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

async function postgresStore(): Promise<MeasuredStore> {
  const server = await startPostgres();
  return storeOn(server, async () => {
    const floor = await openPostgresFloor(server.url, CONNECTIONS);
    const store = await openPostgresStore({ url: server.url, connectionsMax: CONNECTIONS });
    demandDurable(store, 'fsync on, synchronous_commit on');
    return { store, floor };
  });
}

async function redisStore(): Promise<MeasuredStore> {
  const server = await startRedis(FLUSHED_ALWAYS);
  return storeOn(server, async () => {
    const floor = await openRedisFloor(server.url);
    const store = await openRedisStore({ url: server.url });
    demandDurable(store, 'appendfsync always');
    return { store, floor };
  });
}

/** Stops the server on close, and if opening fails. */
async function storeOn(
  server: { stop(): Promise<void> },
  open: () => Promise<Required<Pick<MeasuredStore, 'store' | 'floor'>>>,
): Promise<MeasuredStore> {
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

async function etcdStore(): Promise<MeasuredStore> {
  const cluster = await startEtcd();
  return storeOn(cluster, async () => {
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

/** The floor has checked its own connection. This checks what the store found on its own. */
function demandDurable(store: KernelStore, words: string): void {
  if (!store.durability.includes(words)) {
    throw new Error(`Not measured: the ${store.kind} store survives only ${store.durability}.`);
  }
}
