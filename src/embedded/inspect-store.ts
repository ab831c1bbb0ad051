// A store that is named by text, looked at without being opened.

import type { StoreReport } from '../store/contract/store-report.ts';
import { InvalidInput } from '../support/fault.ts';
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

/** C-8. By how many milliseconds it was ahead. */
export async function setClockBack(text: string): Promise<number> {
  const place = storePlace(text);
  if (place.kind === 'postgres') {
    throw new InvalidInput(
      'Only a SQLite store keeps a clock of its own. Nothing was changed. Set the clock of the PostgreSQL server right.',
    );
  }
  const report = await inspectStore(text);
  if (!report.exists)
    throw new InvalidInput(`"${place.file}" does not exist. Nothing was changed.`);
  const { setSqliteClockBack } = await import('../store/sqlite/clock-problem.ts').catch(
    withoutSqlite,
  );
  return setSqliteClockBack(place.file);
}
