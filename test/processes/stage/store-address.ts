import type { KernelStore } from '../../../src/index.ts';
import { openPostgresStore } from '../../../src/store/postgres/open.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';

/** Where a store is, in a form that goes from process to process. */
export type StoreAddress =
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly schema: string };

export function openStoreAt(address: StoreAddress): Promise<KernelStore> {
  return address.kind === 'sqlite'
    ? openSqliteStore({ file: address.file })
    : openPostgresStore({ url: address.url, schema: address.schema, connectionsMax: 4 });
}
