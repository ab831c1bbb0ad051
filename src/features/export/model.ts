// The seal of a store that was moved elsewhere (EX-1): who, why, whereto, and what it does to what was held.

import type { NewEvent } from '../../execution/history.ts';
import type { Payload } from '../../execution/names.ts';
import { formatInstant, type Instant } from '../../support/clock.ts';

export interface Seal {
  /** Of the move: what is exported under this seal carries it. */
  readonly id: string;
  readonly at: Instant;
  readonly actor: string;
  readonly reason: string;
  /** Where it went, in words. */
  readonly to: string;
  /** Until then, by this store's clock, whoever held something may still believe that it does (EX-4). */
  readonly heldUntil: Instant;
}

export function describeSeal({ at, actor, to, reason }: Seal): string {
  return `This store is sealed: it was moved to ${to} by ${actor} at ${formatInstant(at)} (${reason}). Nothing was written. Use the store that it was imported into. If the move was given up, run "holdfast unseal".`;
}

/** Why sessions end with a seal, as their holders and successors are told. */
export function sealCause({ to, reason }: Pick<Seal, 'to' | 'reason'>): string {
  return `sealed: moved to ${to} (${reason})`;
}

/**
 * EX-3: what was running is given back, not lost: nobody died, so nothing is counted against it. What it was
 * doing may still be done somewhere, as with any owner that was not heard of.
 */
export const GIVEN_BACK_BY_SEAL: NewEvent = {
  kind: 'given-back',
  body: '{"why":"sealed","abandoned":true}' as Payload,
};

/** Y-1: a step with a compensation says so in its last event; in text, a quote would stand behind a backslash. */
export const OWES_COMPENSATION = '"saga":true';
