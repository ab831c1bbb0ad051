import { decideOpen, lifeOf } from '../../lease/decide/session.ts';
import { epochOf } from '../../lease/fence.ts';
import type { OpenSession, SessionOpened } from '../../lease/port.ts';
import type { Database } from './database.ts';
import { fetchChain, fetchedChain, loadChain, loadEpoch, withNotices } from './load-view.ts';
import type { Pulses } from './pulses.ts';
import { fromSession } from './records.ts';

export async function openSession(
  database: Database,
  pulses: Pulses,
  request: OpenSession,
): Promise<SessionOpened> {
  const { policy, connection } = database;
  let lease: string | undefined;
  const { result, fetched } = await database.write(async (tx) => {
    const { keys } = tx;
    // A new id is new, most of the time.
    const own = [keys.live(request.id), keys.ended(request.id), keys.notices(request.id)];
    await tx.load(own, 'unchanged', true);
    const existing = await withNotices(tx, await loadChain(tx, request.id));
    const parent = await loadChain(tx, request.parent);
    const { now } = tx;
    const decision = decideOpen({ existing, parent, policy }, request, now);
    if (decision.kind === 'open') {
      const { session } = decision;
      // Before the transaction: the lease lasts for the ttl from the sending of this on, at least.
      lease ??= await pulses.grant(session.ttlMs);
      const openedIn = epochOf((await loadEpoch(tx)).origin);
      tx.put(keys.live(session.id), fromSession({ ...session, setAt: now, openedIn }));
      tx.put(keys.pulse(session.id), '', lease);
      tx.append({ kind: 'session-opened', at: now, session: session.id, owner: session.owner });
      fetchChain(tx, parent);
    }
    return { decision, existing, parent, now };
  });
  const { decision, existing, parent, now } = result;
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  if (decision.kind === 'replay') {
    return { kind: 'opened', replayed: true, ...lifeOf(existing, now) };
  }
  const chain = [...fetchedChain(parent, fetched, connection.keys), decision.session];
  return { kind: 'opened', replayed: false, ...lifeOf(chain, now) };
}
