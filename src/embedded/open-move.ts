// A store that is named by text, opened for a move: also one that is sealed.

import type { MoveStore } from '../features/export/port.ts';
import { InvalidInput } from '../support/fault.ts';
import { inspectStore } from './inspect-store.ts';
import { type PostgresSettings, storePlace, withoutSqlite } from './open-store.ts';

/** Whoever exports or unseals a store that is not there has mistyped it: nothing is made. */
export async function openExistingMove(
  text: string,
  postgres: PostgresSettings = {},
): Promise<MoveStore> {
  const { exists } = await inspectStore(text, postgres);
  if (exists) return openMove(text, postgres);
  throw new InvalidInput('There is no store there. Nothing was made; check the path or the URL.');
}

export async function openMove(text: string, postgres: PostgresSettings = {}): Promise<MoveStore> {
  const place = storePlace(text);
  if (place.kind === 'postgres') {
    const { openPostgresMove } = await import('../store/postgres/move/open-move.ts');
    return openPostgresMove({ ...postgres, url: place.url });
  }
  const { openSqliteMove } = await import('../store/sqlite/move/open-move.ts').catch(withoutSqlite);
  return openSqliteMove(place.file);
}
