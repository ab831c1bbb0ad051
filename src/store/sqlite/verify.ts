import { decideVerify } from '../../lease/decide/term.ts';
import type { Verified, Verify } from '../../lease/port.ts';
import type { Database } from './database.ts';
import { loadTermView, refused } from './load-view.ts';
import type { ReadTransaction } from './transaction.ts';

/** A read, unless the fence was never issued: that must be written down (T-4). */
export async function verify(database: Database, request: Verify): Promise<Verified> {
  const answer = await database.read((tx) => look(tx, request));
  if (answer.kind === 'current' || answer.why !== 'fence-ahead') return answer;
  return database.write((tx) => {
    // It may have been issued since.
    const again = look(tx, request);
    return again.kind === 'current' ? again : refused(tx, request, again);
  });
}

function look(tx: ReadTransaction, request: Verify): Verified {
  const { now } = tx;
  const view = loadTermView(tx, request.key);
  const decision = decideVerify(view, request, now);
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  return decision;
}
