import { laterBy } from '../../../support/clock.ts';
import type { ExecutionState } from './state.ts';

/** keys that nobody uses; at most `limit` of each kind. */
export function forgetKeys(state: ExecutionState, limit: number): number {
  const now = state.kernel.now();
  const places = [...state.places].filter(([, { taken, gated }]) => taken + gated === 0);
  const rates = [...state.rates].filter(([, { lastAt, perMs }]) => laterBy(lastAt, perMs) <= now);
  for (const [name] of places.slice(0, limit)) state.places.delete(name);
  for (const [name] of rates.slice(0, limit)) state.rates.delete(name);
  return Math.min(places.length, limit) + Math.min(rates.length, limit);
}
