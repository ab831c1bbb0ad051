// `openHoldfast`: the embedded engine on an open store, on a file, or on a URL.

import { HOLDFAST_OPTION_NAMES, type HoldfastOptions } from '../engine/config.ts';
import { Holdfast } from '../engine/holdfast.ts';
import type { CoordinatorStore } from '../store/contract/execution-store.ts';
import { readOptions } from '../support/options.ts';
import { openStore } from './open-store.ts';

/** Options of `openHoldfast`. */
export interface OpenHoldfastOptions extends Omit<HoldfastOptions, 'store'> {
  /** An open store, `postgres://…`, or the path of a SQLite file, such as `./holdfast.db`. */
  readonly store: CoordinatorStore | string;
}

/**
 * Opens Holdfast in this process, on a store.
 *
 * A store given as text is opened here and closed with `close`. Throws `InvalidInput` for invalid
 * options, and `StoreUnavailable` if the store cannot be reached.
 *
 * @example
 * await using holdfast = await openHoldfast({ store: './holdfast.db' });
 * await holdfast.worker({ pipelines: [order] });
 * await holdfast.submit(order, { item: 'book' });
 */
export async function openHoldfast(options: OpenHoldfastOptions): Promise<Holdfast> {
  const { store, ...rest } = readOptions('openHoldfast', options, HOLDFAST_OPTION_NAMES);
  if (typeof store !== 'string') return new Holdfast({ ...rest, store });
  const opened = await openStore(store);
  try {
    return new OwningHoldfast({ ...rest, store: opened });
  } catch (fault) {
    await opened.close();
    throw fault;
  }
}

class OwningHoldfast extends Holdfast {
  override async close(): Promise<void> {
    await super.close();
    await this.store.close();
  }
}
