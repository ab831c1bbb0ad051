// A coordinator with keys of two projects, on a memory store by default, and transports that close with it.

import type { CallerKind, FakeEndpoint, Forgery, TransportBackend } from '../../contract/index.ts';
import { parseProject } from '../../src/execution/names.ts';
import { newKey, type Role, writeKey } from '../../src/features/access/model.ts';
import type {
  ReplyEnvelope,
  Transport,
  TransportRequest,
} from '../../src/protocol/messages/envelope.ts';
import { openServer, type Server } from '../../src/server/serve.ts';
import type { ServerOptions } from '../../src/server/server-options.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';

/** The parts that differ between transports. */
export interface Kind extends Pick<TransportBackend, 'name' | 'offers' | 'lacks'> {
  /** A new store, which the harness closes. */
  store?(): Promise<CoordinatorStore>;
  /** Called after the options. */
  endpoint?(): FakeEndpoint;
  readonly withoutConnection?: boolean;
  options?(): Promise<Partial<ServerOptions>>;
  transport(server: Server, key: string, as: CallerKind): Transport | Promise<Transport>;
  /** By the transport's own means; otherwise by sending the request twice. */
  twice?(
    server: Server,
    key: string,
    message: TransportRequest,
  ): Promise<readonly [unknown, unknown]>;
  deliver?(server: Server, key: string, envelope: unknown): Promise<ReplyEnvelope>;
  forge?(
    server: Server,
    message: TransportRequest,
    how: Forgery,
  ): Promise<ReplyEnvelope | undefined>;
  readonly isSilent?: boolean;
  close?(): Promise<void>;
}

const UNKNOWN_KEY = `hf_${'a'.repeat(16)}_${'b'.repeat(43)}`;

export async function createKey(
  store: CoordinatorStore,
  project: string,
  roles: readonly Role[] = ['work'],
): Promise<string> {
  const { id, secret, digest } = newKey();
  const name = parseProject(project);
  if ((await store.access.project(name)) === undefined) {
    await store.access.putProject({ name, settings: {} });
  }
  await store.access.createKey({ id, digest, roles, name: project, project: name });
  return writeKey({ id, secret });
}

export function backendOf(kind: Kind): TransportBackend {
  return {
    name: kind.name,
    offers: kind.offers,
    ...(kind.lacks && { lacks: kind.lacks }),
    async open() {
      const store = (await kind.store?.()) ?? openMemoryStore();
      const keys: Readonly<Record<CallerKind, string>> = {
        worker: await createKey(store, 'default'),
        stranger: await createKey(store, 'other'),
        anonymous: UNKNOWN_KEY,
      };
      const server = await openServer({
        store,
        port: 0,
        maintenance: false,
        ...(await kind.options?.()),
      });
      const transports: Transport[] = [];
      const transport = async (as: CallerKind = 'worker'): Promise<Transport> => {
        const made = await kind.transport(server, keys[as], as);
        transports.push(made);
        return made;
      };
      let stopped: Promise<unknown> | undefined;
      const stop = async (): Promise<void> => {
        stopped ??= Promise.all(transports.map((each) => each.close()))
          .then(() => server.close())
          .then(() => kind.close?.());
        await stopped;
      };
      return {
        store,
        transport,
        async twice(message) {
          if (kind.twice !== undefined) return kind.twice(server, keys.worker, message);
          const each = await transport();
          return [await each.request(message), await each.request(message)];
        },
        async deliver(envelope) {
          if (kind.deliver === undefined) throw new Error(`${kind.name} has no envelopes.`);
          return kind.deliver(server, keys.worker, envelope);
        },
        ...(kind.isSilent === true ? { isSilent: true } : {}),
        ...(kind.endpoint && { endpoint: kind.endpoint() }),
        ...(kind.withoutConnection && { withoutConnection: true }),
        async forge(message, how) {
          if (kind.forge === undefined) throw new Error(`${kind.name} is not signed.`);
          return kind.forge(server, message, how);
        },
        stop,
        async close() {
          await stop();
          await store.close();
        },
      };
    },
  };
}
