// The session of a worker: one heartbeat for all its executions. When the store has a notice for it,
// somebody has left a message for one of them.

import { openSession, type Session } from '../lease/live-session.ts';
import type { KernelStore } from '../lease/port.ts';
import type { EngineConfig } from './config.ts';
import type { WorkerSettings } from './worker-options.ts';

export function openWorkerSession(
  config: EngineConfig,
  settings: Pick<WorkerSettings, 'owner' | 'ttlMs'>,
  onNotice: () => void,
): Promise<Session> {
  const { clock, timers, random } = config;
  const { owner, ttlMs } = settings;
  return openSession({
    store: noticing(config.store, onNotice),
    owner,
    ...(ttlMs === undefined ? {} : { ttlMs }),
    clock,
    timers,
    random,
  });
}

/** The same store, with an ear at the answers to heartbeats. */
function noticing(store: KernelStore, onNotice: () => void): KernelStore {
  let seen = 0;
  const { sessions } = store;
  return {
    ...store,
    sessions: {
      ...sessions,
      heartbeat: async (request) => {
        const answer = await sessions.heartbeat(request);
        if (answer.kind === 'alive' && answer.notices > seen) {
          seen = answer.notices;
          onNotice();
        }
        return answer;
      },
    },
  };
}
