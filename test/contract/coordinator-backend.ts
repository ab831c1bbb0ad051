// The lease contract through a coordinator: each client of the store is a client of a coordinator of
// its own. The cases of an operator (sweep, recover, raised epochs, forced ends) reach the store
// behind it, as an operator does, and so do sessions that are longer than a coordinator allows.

import type { ContractBackend } from '../../contract/index.ts';
import { NO_WORKER, WORKER_KIND } from '../../src/engine/worker/worker-session.ts';
import { DEFAULT_PROJECT } from '../../src/execution/names.ts';
import { ownKeyOf } from '../../src/features/leases/model.ts';
import type { KernelStore, LeaseService } from '../../src/lease/port.ts';
import { PROJECT_METADATA } from '../../src/lease/session.ts';
import { openServer, type Server } from '../../src/server/serve.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { grpcTransport } from '../../src/worker/grpc-transport.ts';
import { openCoordinator } from '../../src/worker/open-coordinator.ts';

/** The ways to a coordinator that clients of leases have. */
export const WAYS = {
  rest: (server: Server) => openCoordinator({ url: server.url, stream: false }),
  stream: (server: Server) => openCoordinator({ url: server.url }),
  grpc: async ({ grpcAddress = '' }: Server) =>
    openCoordinator({ transport: await grpcTransport({ address: grpcAddress }) }),
} as const;

export type Way = keyof typeof WAYS;

/** Cases that cannot run through a coordinator. */
export const NOT_THROUGH: Readonly<Record<string, string>> = {
  'a key of the maximum length works, and one that differs in its last byte is another':
    'The store keeps the project with the key, so a key of a project is shorter.',
};

/** The same backend, behind coordinators. The key of a caller decides on the project. */
export function coordinatorBackend(base: ContractBackend, way: Way): ContractBackend {
  return {
    offers: base.offers.filter((need) => need !== 'projects'),
    async open(policy) {
      const inner = await base.open(policy);
      const over = async (store: KernelStore): Promise<KernelStore> => {
        const server = await openServer({
          ...{ store: store as CoordinatorStore, port: 0, auth: 'off' },
          ...{ maintenance: false, console: false, grpc: { port: 0 } },
        });
        return asKernel(await WAYS[way](server), store, server);
      };
      let clients: KernelStore[] = [];
      const kept = async (store: Promise<KernelStore>): Promise<KernelStore> => {
        const client = await store;
        clients.push(client);
        return client;
      };
      const closeAll = async (): Promise<void> => {
        const open = clients;
        clients = [];
        for (const client of open) await client.close();
      };
      return {
        ...inner,
        store: await kept(over(inner.store)),
        another: async () => kept(over(await inner.another())),
        async reopen() {
          await closeAll();
          return kept(over(await inner.reopen()));
        },
        async close() {
          await closeAll();
          await inner.close();
        },
      };
    },
  };
}

function asKernel(client: LeaseService, behind: KernelStore, server: Server): KernelStore {
  const { sessions } = client;
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await client.close();
    await server.close();
    await behind.close();
  };
  return {
    ...client,
    sessions: {
      ...sessions,
      open(request) {
        if (request.ttlMs <= client.policy.ttlMsMax) return sessions.open(request);
        const added = { [PROJECT_METADATA]: DEFAULT_PROJECT, [WORKER_KIND]: NO_WORKER };
        const metadata = { ...request.metadata, ...added };
        return behind.sessions.open({ ...request, metadata });
      },
      heartbeat: (request) =>
        (request.ttlMs ?? 0) <= client.policy.ttlMsMax
          ? sessions.heartbeat(request)
          : behind.sessions.heartbeat(request),
      end: (request) => (request.by.kind === 'owner' ? sessions : behind.sessions).end(request),
      recover: (request) => behind.sessions.recover(request),
      async sweep(request) {
        const swept = await behind.sessions.sweep(request);
        const ended = swept.ended.map((each) => ({
          ...each,
          key: ownKeyOf(DEFAULT_PROJECT, each.key) ?? each.key,
        }));
        return { ...swept, ended };
      },
    },
    raiseEpoch: (request) => behind.raiseEpoch(request),
    close: () => {
      closed ??= close();
      return closed;
    },
  };
}
