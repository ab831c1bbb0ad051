// When the console last received something, and which of its reads fail. A frozen coordinator keeps its
// connections open, so only silence shows that it is gone. A sick one keeps the event stream alive while
// its reads fail, and then the figures are old.

import type { Query, QueryCache } from '@tanstack/react-query';
import type { Refused } from './call.ts';

/** The coordinator sends something at least this often, or the console asks. */
export const PING_MS = 4_000;

/** Three pings were missed. */
export const STALE_MS: number = 3 * PING_MS;

let receivedAt = Date.now();
/** Set while the tab has just been shown again and nothing was received since. */
let returnedAt: number | undefined;

export function noteReceived(): void {
  receivedAt = Date.now();
  returnedAt = undefined;
}

export function noteReturn(): void {
  returnedAt = Date.now();
  // Reads stop while the tab is hidden.
  for (const read of pending.values()) read.askedAt = returnedAt;
}

/** Reads of this page without a result since they were first asked for. */
const pending = new Map<Query, { askedAt: number; hasFailed: boolean }>();

export function watchReads(cache: QueryCache): void {
  cache.subscribe((event) => {
    const { query } = event;
    if (event.type === 'removed' || (event.type === 'observerRemoved' && !query.isActive())) {
      pending.delete(query);
    }
    if (event.type !== 'updated') return;
    const { action } = event;
    const isFailure = action.type === 'failed' || action.type === 'error';
    if (action.type === 'fetch' && !pending.has(query)) {
      pending.set(query, { askedAt: Date.now(), hasFailed: false });
    } else if (isFailure && isFault(action.error)) {
      const read = pending.get(query);
      if (read !== undefined) read.hasFailed = true;
    } else if (isFailure || action.type === 'success') pending.delete(query);
  });
}

/** A refused read is a response: the page shows why. */
function isFault(error: unknown): boolean {
  const { status = 0 } = error as Partial<Refused>;
  return status === 0 || status >= 500;
}

/** When the oldest failing read was asked for. */
export function failingSince(): number | undefined {
  const failing = [...pending.values()].filter(({ hasFailed }) => hasFailed);
  return failing.length === 0 ? undefined : Math.min(...failing.map(({ askedAt }) => askedAt));
}

export function silentMs(): number {
  return Math.max(0, Date.now() - receivedAt);
}

export type Contact =
  | { readonly kind: 'live'; readonly receivedAt: number }
  | { readonly kind: 'returning' }
  | { readonly kind: 'stale'; readonly cause: 'silent' | 'failing'; readonly forMs: number };

/** After the tab was hidden, the page waits this long for the first sign of life. */
const RETURN_MS = 3_000;

export function contactAt(now: number): Contact {
  const silentMs = now - receivedAt;
  const failingMs = now - (failingSince() ?? now);
  const forMs = Math.max(0, silentMs, failingMs);
  if (forMs < STALE_MS) return { kind: 'live', receivedAt };
  if (returnedAt !== undefined && now - returnedAt < RETURN_MS) return { kind: 'returning' };
  return { kind: 'stale', cause: silentMs < STALE_MS ? 'failing' : 'silent', forMs };
}
