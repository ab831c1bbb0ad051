// The pair of headers that carries a fence: which resource, and which grant of it.

import { parseFence } from '../lease/fence.ts';
import { shown } from '../support/options.ts';
import { isObject, refuse } from './arguments.ts';
import { type Fenced, parseFenced } from './mark.ts';

export const RESOURCE_HEADER = 'Holdfast-Resource';
export const FENCE_HEADER = 'Holdfast-Fence';

/** A header that was sent twice arrives as one, "a, a", which must not pass as another key. */
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
  // One that was sent twice is no fence, and must not pass as one of the two.
  return typeof value === 'object' ? value.join(', ') : value;
}

function isHeaders(headers: HeadersLike): headers is { get(name: string): string | null } {
  return typeof headers['get'] === 'function';
}
