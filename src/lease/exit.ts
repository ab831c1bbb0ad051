// The ways in which a term ends. A boolean "clean" is not enough, because each exit has another
// meaning for the successor.

export type Exit =
  | 'none'
  | 'finished'
  | 'yielded'
  | 'abandoned'
  | 'failed'
  | 'revoked'
  | 'expired'
  | 'retired';

/** What a holder may say of its own end. It may never say "expired" or "revoked" (L-4). */
export type DeclaredExit = Extract<
  Exit,
  'finished' | 'yielded' | 'abandoned' | 'failed' | 'retired'
>;

export const DECLARED_EXITS: readonly DeclaredExit[] = [
  'finished',
  'yielded',
  'abandoned',
  'failed',
  'retired',
];

/** What the successor should do, in words; shown by tools and in the guide. */
export const EXIT_ADVICE: Readonly<Record<Exit, string>> = {
  none: 'Nobody held this before: start fresh.',
  finished: 'The work was complete: continue from its final state.',
  yielded: 'Stopped on request at a safe point: resume from the checkpoint.',
  abandoned: 'Stopped on purpose, incomplete: check the partial state, then resume.',
  failed: 'The work reported an error: look at the cause, apply your retry policy.',
  revoked: 'Ended by force: treat as expired.',
  expired: 'No word: check the state and reconcile open intents; effects may have happened.',
  retired: 'Done for good: do not do it again.',
};

/** Reads a stored exit that this build does not know as `expired`, the most careful one. */
export function readExit(stored: string): Exit {
  return Object.hasOwn(EXIT_ADVICE, stored) ? (stored as Exit) : 'expired';
}
