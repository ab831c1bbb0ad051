// `unsealStore`: a store whose export was thrown away is used again.

import { Fault } from '../support/fault.ts';
import { boundedText, readOptions } from '../support/options.ts';
import { postgresOf, TEXT_MAX } from './move-options.ts';
import { openExistingMove } from './open-move.ts';
import type { PostgresSettings } from './open-store.ts';

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

/** M-6. Where the export was imported, that store goes on too: make sure that it was not. */
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
