// What the code has asked for and what it waits for, as a run sees it.

import type { CallKey } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';
import type { Opening, Settlement } from './ledger.ts';

/** A call that the code has made and that is not settled. */
export interface Call {
  readonly key: CallKey;
  /** Begins what is not recorded, or goes on with what was begun. */
  start(opening: Opening | undefined): void;
  /** A promise while a value is being fetched: nothing else is delivered before it is there. */
  settle(settlement: Settlement): void | Promise<void>;
  reject(error: Error): void;
  /** What it waits for when nothing of it runs here; undefined while something does. */
  readonly waits?: Wait | undefined;
  /** For calls that are settled by what others recorded: it may leave by itself. */
  look?(): void;
  /** For calls that have effects: when it is settled, whichever way. Never rejects. */
  ended?(): Promise<void>;
  /** The execution has left this process: whatever of it is still timed here goes. */
  leave?(): void;
}

/** `due`: by itself at this store time. `children`: until so many have ended. */
export interface Wait {
  readonly dueAt?: Instant;
  readonly children?: number;
}
