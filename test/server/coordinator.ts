// A coordinator with keys, and callers of every kind.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HoldfastClient } from '../../src/client/client.ts';
import { parseProject } from '../../src/execution/names.ts';
import { newKey, type Role, writeKey } from '../../src/features/access/model.ts';
import { openServer, type Server } from '../../src/server/serve.ts';
import type { ServerOptions } from '../../src/server/server-options.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { openWorker } from '../../src/worker/open-worker.ts';
import { checkedFetch } from './checked-fetch.ts';

type WorkerOptions = Parameters<typeof openWorker>[0];

export interface Given extends Omit<Partial<ServerOptions>, 'store'> {
  readonly store?: CoordinatorStore;
}

/** A coordinator for tests. It closes its store. */
export class TestCoordinator {
  readonly store: CoordinatorStore;
  readonly server: Server;
  readonly #workers: { stop(): Promise<void> }[] = [];

  constructor(store: CoordinatorStore, server: Server) {
    this.store = store;
    this.server = server;
  }

  static async open(given: Given = {}): Promise<TestCoordinator> {
    const store = given.store ?? (await openInFolder());
    const log = {
      info: () => undefined,
      fault: (_: string, error: unknown) => console.error(error),
    };
    const server = await openServer({ port: 0, admin: 'main', log, ...given, store });
    return new TestCoordinator(store, server);
  }

  static onMemory(given: Given = {}): Promise<TestCoordinator> {
    return TestCoordinator.open({ ...given, store: openMemoryStore() });
  }

  get url(): string {
    return this.server.url;
  }

  /** For all projects if none is given. */
  async key(roles: readonly Role[], project?: string): Promise<string> {
    const { access } = this.store;
    const named = project === undefined ? undefined : parseProject(project);
    if (named !== undefined && (await access.project(named)) === undefined) {
      await access.putProject({ name: named, settings: {} });
    }
    const { id, secret, digest } = newKey();
    await access.createKey({
      ...{ id, digest, roles, name: `${roles.join('+')} of ${project ?? 'all'}` },
      ...(named === undefined ? {} : { project: named }),
    });
    return writeKey({ id, secret });
  }

  async client(roles: readonly Role[], project?: string): Promise<HoldfastClient> {
    const key = await this.key(roles, project);
    return new HoldfastClient({ url: this.url, key, fetch: checkedFetch });
  }

  async worker(
    pipelines: WorkerOptions['pipelines'],
    { project = 'default', ...options }: Partial<WorkerOptions> = {},
  ): Promise<Awaited<ReturnType<typeof openWorker>>> {
    const key = await this.key(['work'], project);
    const worker = await openWorker({ url: this.url, key, pipelines, pollMs: 50, ...options });
    this.#workers.push(worker);
    return worker;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#workers.map((each) => each.stop()));
    await this.server.close();
    await this.store.close();
  }
}

async function openInFolder(): Promise<CoordinatorStore> {
  const folder = await mkdtemp(join(tmpdir(), 'hf-server-'));
  const store = await openSqliteStore({ file: join(folder, 'hf.db') });
  return {
    ...store,
    async close() {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The name of the acting key, with its id (J-8). */
export function nameIn(actor: string | undefined): string {
  const name = /^(.*) \([a-z2-7]{16}\)$/.exec(actor ?? '')?.[1];
  if (name === undefined) throw new Error(`Expected a name and the id of a key; got ${actor}`);
  return name;
}

/** Polls until the condition holds; it comes by itself. */
export async function until<Found>(look: () => Promise<Found | undefined>): Promise<Found> {
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The code of the returned problem. */
export function refusedWith(code: string, status?: number): (error: unknown) => boolean {
  return (error) => {
    const { code: got, status: answered } = error as { code?: string; status?: number };
    if (got === code && (status === undefined || status === answered)) return true;
    throw new Error(`Expected ${code} ${status ?? ''}; got ${got} ${answered}: ${error}`);
  };
}
