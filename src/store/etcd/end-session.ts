import { decideEnd } from '../../lease/decide/session.ts';
import { epochOf } from '../../lease/fence.ts';
import type { EndSession, SessionEnded } from '../../lease/port.ts';
import type { SessionEnd } from '../../lease/session.ts';
import type { Database } from './database.ts';
import { loadChain, loadEpoch } from './load-view.ts';
import { fromSession, type StoredSession } from './records.ts';
import type { Transaction } from './transaction.ts';

export async function endSession(database: Database, request: EndSession): Promise<SessionEnded> {
  const { result } = await database.write(async (tx): Promise<SessionEnded> => {
    await tx.load([tx.keys.live(request.id)]);
    const chain = await loadChain(tx, request.id);
    const decision = decideEnd(chain, request, tx.now);
    if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
    const self = chain.at(-1);
    if (decision.kind === 'end' && self !== undefined) await markEnded(tx, self, decision.end);
    return { kind: 'ended', replayed: decision.kind === 'replay' };
  });
  return result;
}

/**
 * One write ends every lease of the session and of its descendants (H-1): all writes below it are
 * conditioned on the key that goes here.
 */
export async function markEnded(
  tx: Transaction,
  session: StoredSession,
  end: SessionEnd,
): Promise<void> {
  const { keys } = tx;
  const endedIn = epochOf((await loadEpoch(tx)).origin);
  const { id, owner } = session;
  tx.delete(keys.live(id));
  tx.delete(keys.pulse(id));
  tx.put(keys.ended(id), fromSession({ ...session, end, endedIn }));
  tx.put(keys.gone(end.at, id), end.exit);
  tx.put(keys.ending(id), '');
  tx.append({
    kind: 'session-ended',
    at: end.at,
    session: id,
    owner,
    exit: end.exit,
    ...(end.cause === undefined ? {} : { cause: end.cause }),
    ...(end.actor === undefined ? {} : { actor: end.actor }),
  });
}
