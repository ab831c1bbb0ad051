// What the functions of moves check alike.

import type { MoveStore } from '../features/export/port.ts';
import { OPTION_NAMES } from '../store/postgres/connect.ts';
import { Fault, InvalidInput } from '../support/fault.ts';
import { boundedText, readOptions, shown } from '../support/options.ts';
import { inspectStore } from './inspect-store.ts';
import { type PostgresSettings, storePlace, withoutSqlite } from './open-store.ts';

export const TEXT_MAX = 4_096;

const POSTGRES_NAMES = OPTION_NAMES.filter((name) => name !== 'url');

export function postgresOf(what: string, value: PostgresSettings | undefined): PostgresSettings {
  return value === undefined ? {} : readOptions(`${what}: postgres`, value, POSTGRES_NAMES);
}

export function optionalFunction(what: string, value: unknown): void {
  if (value === undefined || typeof value === 'function') return;
  throw new InvalidInput(`${what} must be a function; got ${shown(value)}.`);
}

// A store that is named by text, opened for a move: also one that is sealed.

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

// `unsealStore`: a store whose export was thrown away is used again.

export interface UnsealStoreOptions {
  readonly store: string;
  readonly actor: string;
  readonly reason: string;
  readonly postgres?: PostgresSettings;
}

export interface StoreUnsealed {
  readonly kind: 'unsealed';
  readonly epoch: number;
}

const NAMES = ['store', 'actor', 'reason', 'postgres'] as const;

/** EX-6. Where the export was imported, that store goes on too: make sure that it was not. */
export async function unsealStore(options: UnsealStoreOptions): Promise<StoreUnsealed> {
  const read = readOptions('unsealStore', options, NAMES);
  const store = boundedText('unsealStore: store', read.store, TEXT_MAX);
  const actor = boundedText('unsealStore: actor', read.actor, TEXT_MAX);
  const reason = boundedText('unsealStore: reason', read.reason, TEXT_MAX);
  const move = await openExistingMove(store, postgresOf('unsealStore', read.postgres));
  try {
    const answer = await move.seals.unseal({ actor, reason });
    if (answer.kind === 'unsealed') return { kind: 'unsealed', epoch: answer.epoch };
    throw new Fault('not-sealed', 'The store is not sealed. Nothing was changed.');
  } finally {
    await move.close();
  }
}
