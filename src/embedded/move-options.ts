// What the functions of moves check alike.

import { InvalidInput } from '../support/fault.ts';
import { shown } from '../support/options.ts';

export const TEXT_MAX = 4_096;

export function optionalFunction(what: string, value: unknown): void {
  if (value === undefined || typeof value === 'function') return;
  throw new InvalidInput(`${what} must be a function; got ${shown(value)}.`);
}
