// The store that the thread of a watchdog session opens, in a bad state: its second heartbeat fails
// in a way no store should, or ends the thread.

import type { KernelStore } from '../../../src/lease/port.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';

export interface Troubled {
  readonly file: string;
  readonly trouble: 'rejects' | 'ends-thread';
}

export async function openTroubled({ file, trouble }: Troubled): Promise<KernelStore> {
  const store = await openSqliteStore({ file });
  let beats = 0;
  const heartbeat: KernelStore['sessions']['heartbeat'] = (request) => {
    beats += 1;
    if (beats !== 2) return store.sessions.heartbeat(request);
    if (trouble === 'ends-thread') process.exit(1);
    throw new Error('permission denied for table session');
  };
  return { ...store, sessions: { ...store.sessions, heartbeat } };
}
