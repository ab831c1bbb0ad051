// Sessions that carry executions, by the index of what runs (Z-2).

import { judgeSession } from '../../../features/reconcile/decide.ts';
import type { Violation } from '../../../features/reconcile/model.ts';
import type { Reconcile } from '../../../features/reconcile/port.ts';
import type { SessionId } from '../../../lease/names.ts';
import { type About, goOn, type Page } from '../../sql/reconcile.ts';
import { loadChain } from '../load-view.ts';
import type { ReadTransaction } from '../transaction.ts';

const ABOUT = 'id as execution, project, pipeline';

// One step through the index for each session: what they run is not looked at.
const SESSIONS = `
  with recursive carrier (session) as (
    select (select min(session_id) from execution indexed by execution_running where status = 1 and session_id > :after)
    union all
    select (select min(session_id) from execution indexed by execution_running where status = 1 and session_id > carrier.session)
      from carrier
     where carrier.session is not null)
  select session
    from carrier
   where session is not null
   limit :limit`;

const OF_SESSION = `
  select ${ABOUT}
    from execution indexed by execution_running
   where status = 1
     and session_id = :session
   limit :limit`;

const OF_NOBODY = `
  select ${ABOUT}
    from execution indexed by execution_running
   where status = 1
     and session_id is null
   limit :limit`;

/** Z-10, Z-20. */
export function lookAtSessions(tx: ReadTransaction, { after = '', limit }: Reconcile): Page {
  const sessions = tx.all<{ session: SessionId }>(SESSIONS, { after, limit });
  const broken = sessions.flatMap(({ session }): readonly Violation[] => {
    const trouble = judgeSession({ session, chain: loadChain(tx, session) }, tx.now);
    if (trouble?.invariant !== 'left-by-the-dead') return trouble === undefined ? [] : [trouble];
    return tx.all<About>(OF_SESSION, { session, limit }).map((row) => ({ ...trouble, ...row }));
  });
  const nobodys = after === '' ? tx.all<About>(OF_NOBODY, { limit }) : [];
  const unowned = nobodys.map((row): Violation => ({ invariant: 'run-by-nobody', ...row }));
  return { broken: [...unowned, ...broken], ...goOn(sessions, limit, ({ session }) => session) };
}
