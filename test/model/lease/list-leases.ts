import { listedLease } from '../../../src/lease/decide/inspect.ts';
import type { ListedLease, ListLeases } from '../../../src/lease/port.ts';
import type { ModelState } from './state.ts';

export function listLeases(state: ModelState, query: ListLeases): readonly ListedLease[] {
  const now = state.now();
  const { prefix = '', after } = query;
  return [...state.leases.values()]
    .filter((lease) => lease.key.startsWith(prefix))
    .filter((lease) => after === undefined || inByteOrder(lease.key, after) > 0)
    .sort((a, b) => inByteOrder(a.key, b.key))
    .slice(0, query.limit)
    .map((lease) => listedLease(lease, state.chain(lease.session), now));
}

/** As the SQL stores order text; JavaScript's own order differs beyond the first 65,536 characters. */
function inByteOrder(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
