import type { LeasePolicy, LeaseService } from '../../../src/index.ts';
import { openEtcdStore } from '../../../src/store/etcd/open.ts';
import { openPostgresStore } from '../../../src/store/postgres/open.ts';
import { openRedisStore } from '../../../src/store/redis/open.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { grpcTransport } from '../../../src/worker/grpc-transport.ts';
import { openCoordinator } from '../../../src/worker/open-coordinator.ts';

/** Where a store is, in a form that goes from process to process. */
export type StoreAddress =
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly schema: string }
  | { readonly kind: 'redis'; readonly url: string; readonly namespace: string }
  | { readonly kind: 'etcd'; readonly endpoints: readonly string[]; readonly prefix: string }
  | {
      readonly kind: 'coordinator';
      readonly url: string | readonly string[];
      readonly way: Way;
    };

/** How a client reaches a coordinator. */
export const WAYS = ['stream', 'rest', 'grpc'] as const;
export type Way = (typeof WAYS)[number];

export function openStoreAt(
  address: StoreAddress,
  policy: Partial<LeasePolicy> = {},
): Promise<LeaseService> {
  switch (address.kind) {
    case 'sqlite':
      return openSqliteStore({ file: address.file, policy });
    case 'postgres': {
      const { url, schema } = address;
      return openPostgresStore({ url, schema, policy, connectionsMax: 4 });
    }
    case 'redis':
      return openRedisStore({ url: address.url, namespace: address.namespace, policy });
    case 'etcd': {
      const { endpoints, prefix } = address;
      return openEtcdStore({ endpoints, prefix, policy });
    }
    case 'coordinator':
      return openCoordinatorBy(address);
  }
}

async function openCoordinatorBy({
  url,
  way,
}: Extract<StoreAddress, { readonly kind: 'coordinator' }>): Promise<LeaseService> {
  if (way !== 'grpc') return openCoordinator({ url, stream: way === 'stream' });
  return openCoordinator({ transport: await grpcTransport({ address: String(url) }) });
}
