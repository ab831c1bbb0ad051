import type { SessionId } from '../../lease/names.ts';
import type { SessionInspection } from '../../lease/port.ts';
import { authorityMs, chainState, remainingMs } from '../../lease/session.ts';
import { loadChain } from './load-view.ts';
import type { ReadTransaction } from './transaction.ts';

export function inspectSession(tx: ReadTransaction, id: SessionId): SessionInspection | undefined {
  const { now } = tx;
  const chain = loadChain(tx, id);
  const session = chain.at(-1);
  if (session === undefined) return undefined;
  return {
    session,
    state: chainState(chain, now),
    authorityMs: Math.max(0, authorityMs(chain, now)),
    remainingMs: Math.max(0, remainingMs(chain, now)),
  };
}
