import type { SessionId } from '../../lease/names.ts';
import type { SessionInspection } from '../../lease/port.ts';
import { authorityMs, chainState, remainingMs, type SessionChain } from '../../lease/session.ts';
import type { Instant } from '../../support/clock.ts';
import type { Database } from './database.ts';
import { loadChain, withNotices } from './load-view.ts';

export async function inspectSession(
  database: Database,
  id: SessionId,
): Promise<SessionInspection | undefined> {
  return database.read(async (tx) => {
    const chain = await withNotices(tx, await loadChain(tx, id));
    return inspection(chain, tx.now);
  });
}

export function inspection(chain: SessionChain, now: Instant): SessionInspection | undefined {
  const session = chain.at(-1);
  if (session === undefined) return undefined;
  return {
    session,
    state: chainState(chain, now),
    authorityMs: Math.max(0, authorityMs(chain, now)),
    remainingMs: Math.max(0, remainingMs(chain, now)),
  };
}
