// A coordinator that calls one endpoint on loopback, with a handler mounted in one way or another.

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Holdfast } from '../../src/index.ts';
import { openServer, type PushOptions } from '../../src/server/serve.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import type { PushHandler } from '../../src/worker/push-handler.ts';
import { type Mount, plain } from './push-mounts.ts';

export const SIGNING = { keys: { k: 'k'.repeat(32) }, current: 'k' };

/** `own` gets the executions; the other handler answers the probes. */
export function whenDriven(other: PushHandler, own: PushHandler): PushHandler {
  return async (request) => {
    const body = await request.text();
    const again = new Request(request.url, { method: 'POST', body });
    return body.includes('"kind":"probe"') ? other(again) : own(again);
  };
}

export interface Mounted {
  readonly url: string;
  close(): void;
}

export async function mounted(handler: PushHandler, mount: Mount = plain): Promise<Mounted> {
  const endpoint = await mount(handler);
  endpoint.listen(0, '127.0.0.1');
  await once(endpoint, 'listening');
  const { port } = endpoint.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/holdfast`,
    close() {
      endpoint.closeAllConnections();
      endpoint.close();
    },
  };
}

/** For a handler that needs its own URL. */
export interface HandlerAt {
  at(audience: string): PushHandler;
}

export const ALLOW = { hosts: ['127.0.0.1'], privateAddresses: true, http: true };

export interface EndpointStand {
  readonly store: CoordinatorStore;
  readonly holdfast: Holdfast;
  /** The URL of the coordinator. */
  readonly url: string;
}

export async function onEndpoint(
  given: {
    readonly handler: PushHandler | HandlerAt;
    readonly mount?: Mount;
    readonly pipelines: readonly string[];
    readonly circuit?: PushOptions['circuit'];
    readonly probeMs?: number;
    readonly capacity?: number;
    /** Runs before the coordinator starts. */
    readonly first?: (store: CoordinatorStore) => Promise<void>;
    /** The store as the coordinator sees it. */
    readonly through?: (store: CoordinatorStore) => CoordinatorStore;
  },
  play: (stand: EndpointStand) => Promise<void>,
): Promise<void> {
  const { handler, mount = plain, pipelines, circuit, probeMs, capacity = 10 } = given;
  const known = Promise.withResolvers<PushHandler>();
  const endpoint = await mounted(async (request) => (await known.promise)(request), mount);
  known.resolve(typeof handler === 'function' ? handler : handler.at(endpoint.url));
  const store = openMemoryStore();
  await given.first?.(store);
  const server = await openServer({
    ...{ store: given.through?.(store) ?? store, port: 0, maintenance: false },
    push: {
      endpoints: [{ url: endpoint.url, pipelines, capacity }],
      signing: SIGNING,
      allow: ALLOW,
      ...(circuit === undefined ? {} : { circuit }),
      ...(probeMs === undefined ? {} : { probeMs }),
    },
  });
  const holdfast = new Holdfast({ store });
  try {
    await play({ store, holdfast, url: server.url });
  } finally {
    await holdfast.close();
    await server.close();
    await store.close();
    endpoint.close();
  }
}
