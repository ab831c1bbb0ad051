import { describeSeal } from '../../../execution/seal.ts';
import { StoreSealed } from '../../../support/fault.ts';
import type { SealStore } from '../../contract/seal-store.ts';
import type { ExecutionState } from '../executions/state.ts';
import type { MemoryState } from '../state.ts';
import { seal } from './seal.ts';
import { unseal } from './unseal.ts';

export function sealsOf(state: ExecutionState): SealStore {
  return {
    seal: async (request) => seal(state, request),
    unseal: async (request) => unseal(state.kernel, request),
    read: async () => state.kernel.sealed,
  };
}

/** Verbs that write nothing, and so are answered under a seal too. */
const READS: ReadonlySet<string> = new Set([
  ...['inspect', 'list', 'leases', 'verify', 'events'],
  ...['carried', 'room', 'inbox', 'read', 'readMany', 'outcomes', 'history', 'histories'],
  ...['children', 'attachment', 'attachments', 'getBlob', 'missingBlobs', 'template', 'templates'],
  ...[
    'schedule',
    'schedules',
    'dueSchedules',
    'interaction',
    'interactions',
    'lateAnswers',
    'deadLetter',
  ],
  ...['deadLetters', 'deadLetterGroups', 'jobItems', 'audit', 'refusals', 'onRing'],
  ...['referring', 'project', 'projects', 'key', 'keys'],
]);

/** M-1: every other verb of a port is refused. The SQL stores say it with their tables. */
export function unlessSealed<Port extends object>(state: MemoryState, port: Port): Port {
  const guarded = Object.entries(port).map(([verb, call]) => {
    if (READS.has(verb)) return [verb, call];
    const asked = (...given: unknown[]): Promise<unknown> =>
      state.sealed === undefined
        ? call(...given)
        : Promise.reject(new StoreSealed(describeSeal(state.sealed)));
    return [verb, asked];
  });
  return Object.fromEntries(guarded) as Port;
}
