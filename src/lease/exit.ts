// The ways in which a term ends. A boolean "clean" is not enough, because each exit has another
// meaning for the successor.

import { wordsIn } from '../support/options.ts';

/**
 * How a term ended. `EXIT_ADVICE` has the advice to the successor.
 *
 * - `none`: the key was never held.
 * - `finished`: the work was complete.
 * - `yielded`: the holder stopped on request, at a safe point.
 * - `abandoned`: the holder stopped on purpose, incomplete.
 * - `failed`: the work reported an error.
 * - `revoked`: an operator or a deadline ended it.
 * - `expired`: the session expired, and its holder declared no exit.
 * - `retired`: the work is done for good.
 */
export type Exit =
  | 'none'
  | 'finished'
  | 'yielded'
  | 'abandoned'
  | 'failed'
  | 'revoked'
  | 'expired'
  | 'retired';

/** An exit that a holder may declare. Only the store sets `expired` and `revoked`. */
export type DeclaredExit = Extract<
  Exit,
  'finished' | 'yielded' | 'abandoned' | 'failed' | 'retired'
>;

export const DECLARED_EXITS: readonly DeclaredExit[] = wordsIn(
  'finished yielded abandoned failed retired',
);

/** Advice to the successor, for each exit. */
export const EXIT_ADVICE: Readonly<Record<Exit, string>> = {
  none: 'The key had no holder before: start fresh.',
  finished: 'The work was complete: continue from its final state.',
  yielded: 'The holder stopped on request at a safe point: resume from the checkpoint.',
  abandoned:
    'The holder stopped on purpose with the work incomplete: check the partial state, then resume.',
  failed: 'The work reported an error: look at the cause, apply your retry policy.',
  revoked: 'An operator or a deadline ended the term: treat it as expired.',
  expired:
    'The session expired without an exit: check the state and reconcile open intents. Effects may have happened.',
  retired: 'The work is done for good: do not do it again.',
};

/** Reads a stored exit that this build does not know as `expired`, the most careful one. */
export function readExit(stored: string): Exit {
  return Object.hasOwn(EXIT_ADVICE, stored) ? (stored as Exit) : 'expired';
}
