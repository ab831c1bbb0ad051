// Names that begin like this are the engine's own: what they do has routes, and roles, of its own.

import type { PipelineName } from '../../execution/names.ts';
import { isAddedName } from './added-pipelines.ts';
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

/** M-4: who has a key for workers is given no act of an operator, whose end it could make up. */
export function requireRunElsewhere(pipelines: readonly PipelineName[]): void {
  for (const name of pipelines) {
    if (!isAddedName(name)) requireOpenName('A pipeline', name);
  }
}
