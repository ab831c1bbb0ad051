// The stores for every theme. A fresh address is a store that was never opened.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CoordinatorApi } from '../children/coordinator.ts';
import { Child } from './child.ts';
import type { StoreAddress, Way } from './store-address.ts';

export interface Backend {
  readonly name: string;
  fresh(): Promise<StoreAddress>;
  end(): Promise<void>;
}

export function sqliteBackend(): Backend {
  let folder: Promise<string> | undefined;
  let count = 0;
  return {
    name: 'sqlite',
    async fresh() {
      folder ??= mkdtemp(join(tmpdir(), 'holdfast-processes-'));
      count += 1;
      const name = `store-${count}.db`;
      return { kind: 'sqlite', file: join(await folder, name) };
    },
    async end() {
      if (folder !== undefined) await rm(await folder, { recursive: true, force: true });
    },
  };
}

interface Database {
  readonly url: string;
  release(): Promise<void>;
}

/** One database for the file, one schema for each store. */
export function postgresBackend(provide: () => Promise<Database>): Backend {
  let database: Promise<Database> | undefined;
  let count = 0;
  return {
    name: 'postgres',
    async fresh() {
      database ??= provide();
      count += 1;
      const schema = `holdfast_${count}`;
      return { kind: 'postgres', url: (await database).url, schema };
    },
    async end() {
      await (await database)?.release();
    },
  };
}

interface Server {
  readonly url: string;
  stop(): Promise<void>;
}

/** One server for the file, one namespace for each store. */
export function redisBackend(provide: () => Promise<Server>): Backend {
  let server: Promise<Server> | undefined;
  let count = 0;
  return {
    name: 'redis',
    async fresh() {
      server ??= provide();
      count += 1;
      return { kind: 'redis', url: (await server).url, namespace: `holdfast-${count}` };
    },
    async end() {
      await (await server)?.stop();
    },
  };
}

interface EtcdPlace {
  readonly endpoints: readonly string[];
  readonly prefix: string;
  release(): Promise<void>;
}

/** One cluster for the file, one prefix for each store. */
export function etcdBackend(provide: () => Promise<EtcdPlace>): Backend {
  let place: Promise<EtcdPlace> | undefined;
  let count = 0;
  return {
    name: 'etcd',
    async fresh() {
      place ??= provide();
      count += 1;
      const { endpoints, prefix } = await place;
      return { kind: 'etcd', endpoints, prefix: `${prefix}${count}/` };
    },
    async end() {
      await (await place)?.release();
    },
  };
}

const WAY_NAMES: Readonly<Record<Way, string>> = {
  stream: 'a stream',
  rest: 'REST',
  grpc: 'gRPC',
};

/** A coordinator process for each store. Its clients reach it by its URL only. */
export function coordinatorBackend(base: Backend, way: Way): Backend {
  const coordinators: Child<CoordinatorApi>[] = [];
  return {
    name: `a coordinator over ${WAY_NAMES[way]}, on ${base.name}`,
    async fresh() {
      const child = new Child<CoordinatorApi>('children/coordinator.ts');
      coordinators.push(child);
      const serve = way === 'grpc' ? 'serveGrpc' : 'serve';
      const url = await child.call(serve, { store: await base.fresh(), port: 0 });
      return { kind: 'coordinator', url, way };
    },
    async end() {
      await Promise.all(coordinators.map((each) => each.kill()));
      await base.end();
    },
  };
}
