// When the console last received something: a response, or a message of the event stream. A frozen coordinator
// keeps its connections open, so only silence shows that it is gone.

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
}

export function silentMs(): number {
  return Math.max(0, Date.now() - receivedAt);
}

export type Contact =
  | { readonly kind: 'live'; readonly receivedAt: number }
  | { readonly kind: 'returning' }
  | { readonly kind: 'stale'; readonly silentMs: number };

/** After the tab was hidden, the page waits this long for the first sign of life. */
const RETURN_MS = 3_000;

export function contactAt(now: number): Contact {
  const silent = Math.max(0, now - receivedAt);
  if (silent < STALE_MS) return { kind: 'live', receivedAt };
  if (returnedAt !== undefined && now - returnedAt < RETURN_MS) return { kind: 'returning' };
  return { kind: 'stale', silentMs: silent };
}
