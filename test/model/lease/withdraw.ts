import type { Withdraw, Withdrawn } from '../../../src/lease/port.ts';
import type { ModelState } from './state.ts';

export function withdraw(state: ModelState, request: Withdraw): Withdrawn {
  const tickets = state.tickets.get(request.key) ?? [];
  const left = tickets.filter((ticket) => ticket.attempt !== request.attempt);
  if (left.length === 0) state.tickets.delete(request.key);
  else state.tickets.set(request.key, left);
  if (left.length < tickets.length) state.hint(request.key);
  return { kind: 'withdrawn', wasQueued: left.length < tickets.length };
}
