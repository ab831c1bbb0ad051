// Names that begin like this are the engine's own: what they do has routes, and roles, of its own.

import { ProblemReply } from './route.ts';

const RESERVED = 'holdfast.';

export function isReserved(name: string): boolean {
  return name.startsWith(RESERVED);
}

export function requireOpenName(what: string, name: string): void {
  if (!isReserved(name)) return;
  throw new ProblemReply(
    403,
    'name-reserved',
    `${what} whose name begins with "${RESERVED}" is the engine's own. Use the route for what it does.`,
  );
}
