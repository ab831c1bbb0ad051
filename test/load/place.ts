import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';

/** Where a store is, in a form that fits a command line. */
export type StorePlace =
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly schema: string };

/** A fresh store; `folder` is for stores that keep files. */
export type PlaceIn = (folder: string) => StorePlace | Promise<StorePlace>;

const POLICY = { ttlMsMin: 100 } as const;

export async function openAddressed(
  place: StorePlace,
  onBoundary?: (phase: 'before' | 'after', n: number) => void,
): Promise<CoordinatorStore> {
  const options = { policy: POLICY, ...(onBoundary && { onBoundary }) };
  if (place.kind === 'sqlite') {
    const { openSqliteStore } = await import('../../src/store/sqlite/open.ts');
    return openSqliteStore({ file: place.file, ...options });
  }
  const { openPostgresStore } = await import('../../src/store/postgres/open.ts');
  const { url, schema } = place;
  return openPostgresStore({ url, schema, ...options, connectionsMax: 4 });
}
