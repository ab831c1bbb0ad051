// The seal of an exported store: its actor, reason and destination, and its effect on held leases
// (EX-1).

import type { NewEvent } from '../../execution/history.ts';
import type { Payload } from '../../execution/names.ts';
import { formatInstant, type Instant } from '../../support/clock.ts';

export interface Seal {
  /** The id of the export. Everything exported under this seal carries it. */
  readonly id: string;
  readonly at: Instant;
  readonly actor: string;
  readonly reason: string;
  /** The destination, in words. */
  readonly to: string;
  /**
   * Until this time of the store's clock, a former holder may still believe that it holds its lease
   * (EX-4).
   */
  readonly heldUntil: Instant;
}

export function describeSeal({ at, actor, to, reason }: Seal): string {
  return `This store is sealed: ${actor} exported it to ${to} at ${formatInstant(at)} (${reason}). Nothing was written. Use the store that it was imported into. If you gave up the export, run "holdfast unseal".`;
}

/** The cause with which a seal ends sessions, for their holders and successors. */
export function sealCause({ to, reason }: Pick<Seal, 'to' | 'reason'>): string {
  return `sealed: exported to ${to} (${reason})`;
}

/**
 * A seal gives running executions back. No worker died, so this is no lost claim (EX-3). Their
 * steps may still run somewhere, as for any owner that the store cannot reach.
 */
export const GIVEN_BACK_BY_SEAL: NewEvent = {
  kind: 'given-back',
  body: '{"why":"sealed","abandoned":true}' as Payload,
};

/**
 * A step with a compensation has this in its last event (Y-1). Inside a JSON string, a backslash
 * would precede the quotes.
 */
export const OWES_COMPENSATION = '"saga":true';
