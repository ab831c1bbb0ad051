// The verbs of awaits (W-1 … W-10), a file each.

import type { AwaitStore } from '../../../features/awaits/port.ts';
import { answer, expireAwaits } from './answer.ts';
import { assignAwait, cancelAwait, extendAwait } from './command-await.ts';
import { interaction, interactions, lateAnswers } from './interactions.ts';
import type { Parts } from './parts.ts';

export function awaitsOf(parts: Parts): AwaitStore {
  const { database } = parts;
  return {
    answer: (request) => answer(parts, request),
    expireAwaits: (request) => expireAwaits(parts, request),
    extendAwait: (request) => extendAwait(parts, request),
    assignAwait: (request) => assignAwait(parts, request),
    cancelAwait: (request) => cancelAwait(parts, request),
    interaction: (query) => interaction(database, query),
    interactions: (query) => interactions(database, query),
    lateAnswers: (query) => lateAnswers(database, query),
  };
}
