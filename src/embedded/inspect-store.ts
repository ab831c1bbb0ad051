// A store that is named by text, looked at without being opened.

import type { StoreReport } from '../store/contract/store-report.ts';
import { type PostgresSettings, storePlace, withoutSqlite } from './open-store.ts';

export async function inspectStore(
  text: string,
  postgres: PostgresSettings = {},
): Promise<StoreReport> {
  const place = storePlace(text);
  if (place.kind === 'postgres') {
    const { inspectPostgresStore } = await import('../store/postgres/inspect-store.ts');
    return inspectPostgresStore({ ...postgres, url: place.url });
  }
  const { inspectSqliteStore } = await import('../store/sqlite/inspect-store.ts').catch(
    withoutSqlite,
  );
  return inspectSqliteStore(place.file);
}
