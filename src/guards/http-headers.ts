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

export const RESOURCE_HEADER = 'Holdfast-Resource';
export const FENCE_HEADER = 'Holdfast-Fence';

/** A header that was sent twice arrives as one, "a, a". This pattern refuses it. */
const ENCODED = /^(?:[\w.~!'()*-]|%[\da-f]{2})+$/i;

/** Headers of a fetch Request, or the plain object that Node, Express and Fastify have. */
export type HeadersLike =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export type Presented =
  | { readonly kind: 'presented'; readonly fenced: Fenced }
  | { readonly kind: 'absent' }
  | { readonly kind: 'malformed'; readonly why: string };

/** A held lease as headers. The key is percent-encoded: header values are not Unicode. */
export function fenceHeaders(fenced: Fenced): Record<string, string> {
  const { key, fence } = parseFenced(fenced);
  return { [RESOURCE_HEADER]: encodeURIComponent(key), [FENCE_HEADER]: String(fence) };
}

/** What a request presents, checked. For handlers that pass the fence on to a database. */
export function readFenced(headers: HeadersLike): Presented {
  if (!isObject(headers)) {
    refuse(headers, { what: 'The headers of a request', pass: 'readFenced(request.headers)' });
  }
  const resource = headerOf(headers, RESOURCE_HEADER);
  const fence = headerOf(headers, FENCE_HEADER);
  if (resource === undefined && fence === undefined) return { kind: 'absent' };
  if (resource === undefined || fence === undefined) {
    const missing = resource === undefined ? RESOURCE_HEADER : FENCE_HEADER;
    return { kind: 'malformed', why: `The header ${missing} is missing; the two go together.` };
  }
  if (!ENCODED.test(resource)) {
    const why = `The header ${RESOURCE_HEADER} is one key, percent-encoded; got ${shown(resource)}.`;
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

export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** A fetch that presents the lease with every request. `readStale` tells a refusal from others. */
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
 * Shuts out every earlier holder: right after the grant, before the first request that matters. The
 * address is any guarded one that does nothing by itself; it is sent a POST without a body.
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
    `${String(address)} answered ${response.status} instead of admitting "${fenced.key}". ` +
      'Check that the address is guarded and does nothing else; then try again.',
  );
}

/** The refusal in an answer, if it is one. Reads a copy; the answer itself stays unread. */
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
