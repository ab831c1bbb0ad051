// Sessions that carry executions, by the index of what runs (Z-2). Each look is one statement, so it is one moment.

import { judgeSession } from '../../../features/reconcile/decide.ts';
import type { Violation } from '../../../features/reconcile/model.ts';
import type { Reconcile } from '../../../features/reconcile/port.ts';
import type { SessionId } from '../../../lease/names.ts';
import type { Instant } from '../../../support/clock.ts';
import { type About, goOn, type Page } from '../../sql/reconcile.ts';
import { type Queries, statement } from '../database.ts';
import { chainOf, type SessionJson, toChain } from '../load-view.ts';

export const FIRST_ID = '00000000-0000-0000-0000-000000000000';

const ABOUT = 'e.id as execution, e.project, e.pipeline';

// One step through the index for each session: what they run is not looked at.
const SESSIONS = statement(`
  with recursive carrier as (
    select (select e.session_id from hf.execution e where e.status = 1 and e.session_id > $1 order by e.session_id limit 1) as id, 1 as nth
    union all
    select (select e.session_id from hf.execution e where e.status = 1 and e.session_id > c.id order by e.session_id limit 1), c.nth + 1
      from carrier c
     where c.id is not null
       and c.nth < $2
  )
  select c.id as session, ${chainOf('c.id')} as chain, hf_now() as now
    from carrier c
   where c.id is not null
   order by c.nth`);

const OF_SESSION = statement(`
  select ${ABOUT}
    from hf.execution e
   where e.status = 1
     and e.session_id = $1
   limit $2`);

const OF_NOBODY = statement(`
  select ${ABOUT}
    from hf.execution e
   where e.status = 1
     and e.session_id is null
   limit $1`);

interface SessionFound {
  readonly session: SessionId;
  readonly chain: SessionJson[] | null;
  readonly now: Instant;
}

/** Z-10, Z-20. */
export async function lookAtSessions(queries: Queries, request: Reconcile): Promise<Page> {
  const { after = FIRST_ID, limit } = request;
  const rows = await queries.rows<SessionFound & object>(SESSIONS, [after, limit]);
  const broken: Violation[] = [];
  for (const { session, chain, now } of rows) {
    const trouble = judgeSession({ session, chain: toChain(chain) }, now);
    if (trouble?.invariant === 'left-by-the-dead') {
      const left = await queries.rows<About & object>(OF_SESSION, [session, limit]);
      broken.push(...left.map((row) => ({ ...trouble, ...row })));
    } else if (trouble !== undefined) broken.push(trouble);
  }
  if (request.after === undefined) {
    const unowned = await queries.rows<About & object>(OF_NOBODY, [limit]);
    broken.push(...unowned.map((row): Violation => ({ invariant: 'run-by-nobody', ...row })));
  }
  return { broken, ...goOn(rows, limit, ({ session }) => session) };
}
