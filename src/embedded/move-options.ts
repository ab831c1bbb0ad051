// What the functions of moves check alike.

import { OPTION_NAMES } from '../store/postgres/connect.ts';
import { InvalidInput } from '../support/fault.ts';
import { readOptions, shown } from '../support/options.ts';
import type { PostgresSettings } from './open-store.ts';

export const TEXT_MAX = 4_096;

const POSTGRES_NAMES = OPTION_NAMES.filter((name) => name !== 'url');

export function postgresOf(what: string, value: PostgresSettings | undefined): PostgresSettings {
  return value === undefined ? {} : readOptions(`${what}: postgres`, value, POSTGRES_NAMES);
}

export function optionalFunction(what: string, value: unknown): void {
  if (value === undefined || typeof value === 'function') return;
  throw new InvalidInput(`${what} must be a function; got ${shown(value)}.`);
}
