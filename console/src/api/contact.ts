// When the console last received something: a response, or a message of the event stream. A frozen coordinator
// keeps its connections open, so only silence shows that it is gone.

import { createContext, createElement, type ReactNode, useContext } from 'react';
import { useNow } from '../parts/now.ts';

/** The coordinator sends something at least this often, or the console asks. */
export const PING_MS = 4_000;

/** Three pings were missed. */
export const STALE_MS: number = 3 * PING_MS;

/** After the tab was hidden, the page waits this long for the first sign of life. */
const RETURN_MS = 3_000;

let receivedAt = Date.now();
/** Set while the tab has just been shown again and nothing was received since. */
let returnedAt: number | undefined;

export function noteReceived(): void {
  receivedAt = Date.now();
  returnedAt = undefined;
}

export function noteReturn(): void {
  returnedAt = Date.now();
}

export function silentMs(): number {
  return Math.max(0, Date.now() - receivedAt);
}

export type Contact =
  | { readonly kind: 'live'; readonly receivedAt: number }
  | { readonly kind: 'returning' }
  | { readonly kind: 'stale'; readonly silentMs: number };

export function useContact(): Contact {
  const now = useNow();
  const silent = Math.max(0, now - receivedAt);
  if (silent < STALE_MS) return { kind: 'live', receivedAt };
  if (returnedAt !== undefined && now - returnedAt < RETURN_MS) return { kind: 'returning' };
  return { kind: 'stale', silentMs: silent };
}

const Stale = createContext(false);

/** Separate from the frame, which would otherwise render the page again with every tick of the clock. */
export function StaleProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const isStale = useContact().kind === 'stale';
  return createElement(Stale, { value: isStale }, children);
}

/** True if the figures on the page may be old. */
export function useStale(): boolean {
  return useContext(Stale);
}
