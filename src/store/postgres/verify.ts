import { decideVerify } from '../../lease/decide/term.ts';
import type { Verified, Verify } from '../../lease/port.ts';
import type { Database } from './database.ts';
import { haltIfAhead } from './halt.ts';
import { loadTerm } from './load-view.ts';

export async function verify(database: Database, request: Verify): Promise<Verified> {
  const { now, ...view } = await loadTerm(database, request.key);
  const decision = decideVerify(view, request, now);
  if (decision.kind === 'refuse') {
    await haltIfAhead(database, request.fence, decision.refusal);
    return { kind: 'refused', ...decision.refusal };
  }
  return decision;
}
