// The two headers that carry a fence: the resource, and the grant.

import { parseFence } from '../lease/fence.ts';
import { StoreUnavailable } from '../support/fault.ts';
import { shown } from '../support/options.ts';
import {
  CURRENT,
  type Fenced,
  type GuardResult,
  isObject,
  needFunction,
  parseFenced,
  refuse,
  type Stale,
} from './mark.ts';
import type { Busy } from './marks.ts';

/** The request header with the key of the lease, percent-encoded. */
export const RESOURCE_HEADER = 'Holdfast-Resource';
/** The request header with the fence. */
export const FENCE_HEADER = 'Holdfast-Fence';

/** A header that was sent twice arrives as one, "a, a". This pattern refuses it. */
const ENCODED = /^(?:[\w.~!'()*-]|%[\da-f]{2})+$/i;

/**
 * The headers of a fetch `Request`, or the plain object of Node, Express and Fastify. `get` returns
 * one header.
 */
export type HeadersLike =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * The fence headers of a request.
 *
 * - `presented`: `fenced` has the key and the fence.
 * - `absent`: the request has none.
 * - `malformed`: they cannot be read; `why` is the reason.
 */
export type Presented =
  | { readonly kind: 'presented'; readonly fenced: Fenced }
  | { readonly kind: 'absent' }
  | { readonly kind: 'malformed'; readonly why: string };

/**
 * Returns the headers that present a lease. Throws `InvalidInput` if the key or the fence is
 * invalid.
 *
 * @example
 * await fetch('https://ledger.example.org/invoices', { method: 'POST', headers: fenceHeaders(lease) });
 */
export function fenceHeaders(fenced: Fenced): Record<string, string> {
  const { key, fence } = parseFenced(fenced);
  return { [RESOURCE_HEADER]: encodeURIComponent(key), [FENCE_HEADER]: String(fence) };
}

/**
 * Reads the fence headers of a request. Use it to pass the fence on to a database.
 *
 * @example
 * const presented = readFenced(new Headers(fenceHeaders(lease)));
 * if (presented.kind === 'presented') console.log(presented.fenced.key);
 */
export function readFenced(headers: HeadersLike): Presented {
  if (!isObject(headers)) {
    refuse(headers, { what: 'The headers of a request', pass: 'readFenced(request.headers)' });
  }
  const resource = headerOf(headers, RESOURCE_HEADER);
  const fence = headerOf(headers, FENCE_HEADER);
  if (resource === undefined && fence === undefined) return { kind: 'absent' };
  if (resource === undefined || fence === undefined) {
    const missing = resource === undefined ? RESOURCE_HEADER : FENCE_HEADER;
    return { kind: 'malformed', why: `The header ${missing} is missing. Send both fence headers.` };
  }
  if (!ENCODED.test(resource)) {
    const why = `The header ${RESOURCE_HEADER} must be one key, percent-encoded; got ${shown(resource)}.`;
    return { kind: 'malformed', why };
  }
  try {
    const key = decodeURIComponent(resource);
    return { kind: 'presented', fenced: parseFenced({ key, fence: parseFence(fence) }) };
  } catch (error) {
    return { kind: 'malformed', why: error instanceof Error ? error.message : String(error) };
  }
}

function headerOf(headers: HeadersLike, name: string): string | undefined {
  if (isHeaders(headers)) return headers.get(name) ?? undefined;
  const value = headers[name.toLowerCase()];
  // Joins a header that was sent twice, so that it does not pass as one of the two values.
  return typeof value === 'object' ? value.join(', ') : value;
}

function isHeaders(headers: HeadersLike): headers is { get(name: string): string | null } {
  return typeof headers['get'] === 'function';
}

// The holder's side of a guarded HTTP resource.

/** A function that sends requests as `fetch` does. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * Returns a `fetch` that presents the lease with every request. `send` defaults to the global
 * `fetch`.
 *
 * `readStale` detects a refusal in a response. Throws `InvalidInput` if the lease is invalid.
 *
 * @example
 * const send = fencedFetch(lease);
 * const response = await send('https://ledger.example.org/invoices', { method: 'POST' });
 * if ((await readStale(response)) !== undefined) console.error('Another holder has taken over.');
 */
export function fencedFetch(fenced: Fenced, send: Fetch = fetch): Fetch {
  const own = fenceHeaders(fenced);
  const what = 'The second argument, if any, sends requests as fetch does';
  needFunction(send, { what, pass: 'fencedFetch(lease, send)' });
  return (input, init) => {
    const given = init?.headers ?? (input instanceof Request ? input.headers : undefined);
    const headers = new Headers(given);
    for (const [name, value] of Object.entries(own)) headers.set(name, value);
    return send(input, { ...init, headers });
  };
}

/**
 * Shuts out every earlier holder at a guarded server. Call it right after the grant.
 *
 * It sends a POST without a body to `address`, a guarded route that does nothing else. Throws
 * `StoreUnavailable` if the server responds with another error.
 *
 * @example
 * const admitted = await admitAt('https://ledger.example.org/admit', lease);
 * if (admitted.kind === 'stale') console.error('Another holder has taken over.');
 */
export async function admitAt(
  address: string | URL,
  fenced: Fenced,
  send: Fetch = fetch,
): Promise<GuardResult | Busy> {
  if (typeof address !== 'string' && !(address instanceof URL)) {
    const what = 'The first argument is the address that admits';
    refuse(address, { what, pass: 'admitAt(address, lease)' });
  }
  const response = await fencedFetch(fenced, send)(address, { method: 'POST' });
  if (response.ok) {
    await response.body?.cancel();
    return CURRENT;
  }
  const problem = await problemIn(response);
  if (problem['code'] === 'stale-fence') return staleOf(problem);
  if (problem['code'] === 'fence-busy') return { kind: 'busy', resource: fenced.key };
  throw new StoreUnavailable(
    `${String(address)} returned status ${response.status} and did not admit "${fenced.key}". ` +
      'Check that a guard protects the address and that it does nothing else. Then try again.',
  );
}

/**
 * Returns the refusal in a response of a guarded server, or undefined. The response stays unread.
 *
 * @example
 * const stale = await readStale(await fencedFetch(lease)('https://ledger.example.org/invoices'));
 * if (stale !== undefined) console.error(stale.newest);
 */
export async function readStale(response: Response): Promise<Stale | undefined> {
  if (response.status !== 409) return undefined;
  const problem = await problemIn(response.clone());
  return problem['code'] === 'stale-fence' ? staleOf(problem) : undefined;
}

async function problemIn(response: Response): Promise<Readonly<Record<string, unknown>>> {
  const body: unknown = await response.json().catch(() => undefined);
  return typeof body === 'object' && body !== null ? { ...body } : {};
}

function staleOf(problem: Readonly<Record<string, unknown>>): Stale {
  return {
    kind: 'stale',
    resource: String(problem['resource']),
    presented: parseFence(problem['presented']),
    newest: parseFence(problem['newest']),
  };
}
