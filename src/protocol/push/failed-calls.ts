// Claims whose calls did not end them: how they are given back, and when they are called for again (M-16).

import type { HistoryEvent } from '../../execution/history.ts';
import type { Payload } from '../../execution/names.ts';

const CALL_FAILED = 'call-failed';
const DENIED_MS = 1_000;
const FIRST_MS = 1_000;
const LONGEST_MS = 60_000;

export interface Unended {
  /** `denied`: nothing was tried. `failed`: it may have been. `stopping`: so it may, and the coordinator stops. */
  readonly kind: 'denied' | 'failed' | 'stopping';
  readonly by: string;
  readonly reason: string;
}

/** `failed`: how many calls in a row did before this one. */
export function givenBack(
  { kind, by, reason }: Unended,
  failed: number,
): { readonly body: Payload; readonly delayMs: number } {
  const said = (why: string, more: object = {}): Payload =>
    JSON.stringify({ why, by, reason, ...more }) as Payload;
  if (kind === 'denied') return { body: said('denied'), delayMs: DENIED_MS };
  // Its steps may have run: who runs them next is told so.
  const left = { abandoned: true };
  if (kind === 'stopping') return { body: said('stopping', left), delayMs: 0 };
  return { body: said(CALL_FAILED, left), delayMs: retryDelayMs(failed) };
}

export function retryDelayMs(failed: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** failed);
}

/** How many calls in a row have failed, as history has it; nothing else happened in between. */
export function failedCallsIn(history: readonly HistoryEvent[]): number {
  const last = history.findLastIndex((event) => event.kind !== 'claimed' && !isFailedCall(event));
  return history.slice(last + 1).filter(isFailedCall).length;
}

function isFailedCall({ kind, body }: HistoryEvent): boolean {
  if (kind !== 'given-back') return false;
  return (JSON.parse(body ?? '{}') as { readonly why?: string }).why === CALL_FAILED;
}
