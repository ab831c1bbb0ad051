// The holder's side of a guarded HTTP resource.

import { parseFence } from '../lease/fence.ts';
import { StoreUnavailable } from '../support/fault.ts';
import { needFunction, refuse } from './arguments.ts';
import { fenceHeaders } from './http-headers.ts';
import { CURRENT, type Fenced, type GuardAnswer, type Stale } from './mark.ts';
import type { Busy } from './marks.ts';

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
): Promise<GuardAnswer | Busy> {
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
