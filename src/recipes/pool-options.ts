// What a person writes to join a pool, and what is refused.

import { NAME_BYTES_MAX } from '../lease/names.ts';
import { requireStore } from '../lease/session-options.ts';
import {
  boundedText,
  optionalFunctions,
  rejectUnknownOptions,
  wholeNumber,
} from '../support/options.ts';
import { TERM_OPTION_NAMES, type TermOptions } from './run-term.ts';
import { STANDING_OPTION_NAMES, type StandingOptions } from './standing-session.ts';

export interface PoolOptions extends StandingOptions, Omit<TermOptions, 'clock' | 'timers'> {
  /** All members of one pool use the same name. */
  readonly name: string;
  readonly keys: readonly string[];
  /**
   * How often to look at members and shares, at least; a member that is about to expire is looked at
   * when it does. Default a third of the ttl.
   */
  readonly balanceMs?: number;
  /** How many keys one member gives up at a time. Default 1. */
  readonly movesMax?: number;
  /** Whether an error means that the key can never be worked on. It is then retired, for all members. */
  readonly isPermanent?: (error: unknown) => boolean;
  /**
   * Told what the work of a key threw, and, without a key, any fault of the store that is not an
   * outage; the pool goes on, unless that cannot help: then its state is `failed`.
   */
  readonly onError?: (key: string | undefined, error: unknown) => void;
}

const NAMES: readonly (keyof PoolOptions)[] = [
  'name',
  'keys',
  'balanceMs',
  'movesMax',
  'isPermanent',
  'onError',
  ...TERM_OPTION_NAMES,
  ...STANDING_OPTION_NAMES,
];

export function checkPoolOptions(options: PoolOptions): void {
  rejectUnknownOptions('pool', options, NAMES);
  const { name, balanceMs = 1, movesMax = 1, isPermanent, onError, open } = options;
  boundedText('pool: name', name, NAME_BYTES_MAX);
  wholeNumber('balanceMs', balanceMs, { min: 1, max: 3_600_000 });
  wholeNumber('movesMax', movesMax, { min: 1, max: 10_000 });
  optionalFunctions('pool', { isPermanent, onError, open });
  requireStore('pool', options.store);
}
