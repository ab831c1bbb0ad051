// What waits, and what could wake it (Z-11, Z-12, Z-13, Z-21).

import type { ExecutionId, PipelineName, ProjectName } from '../../../execution/names.ts';
import { AWAIT_CODES, INTERACTION_CODES } from '../../../features/awaits/rows.ts';
import {
  CHILDREN_MAX,
  judgeWaiting,
  type WaitingFacts,
} from '../../../features/reconcile/decide.ts';
import type { Reconcile } from '../../../features/reconcile/port.ts';
import type { Instant } from '../../../support/clock.ts';
import { SAGA_CODES } from '../../execution-rows.ts';
import type { Page } from '../../sql/reconcile.ts';
import type { ReadTransaction } from '../transaction.ts';

// A step over all else that a project has.
const NEXT_PROJECT = `
  select project
    from execution indexed by execution_status
   where project > :project
     and (status = 2 or status > 10)
   order by project
   limit 1`;

const WAITING = `
  select id
    from execution indexed by execution_status
   where project = :project
     and status = 2
     and (status = 2 or status > 10)
     and id > :id
   order by id
   limit :limit`;

const CHILDREN = `
             select parent_call, status
               from execution as child indexed by execution_parent
              where child.parent_id = execution.id
                and child.project = execution.project
              order by child.id
              limit ${CHILDREN_MAX + 1}`;

// `except` builds each side once; a condition would ask one side for every row of the other. An inbox, which may be
// long, is read only where there is something to look for.
const FACTS = `
  select id as execution, project, pipeline, ready_at, wake_after, saga, news,
         (select at from history where history.row_id = execution.row_id and kind = 'parked' order by seq desc limit 1) as parked_at,
         (select body from history where history.row_id = execution.row_id and kind = 'parked' order by seq desc limit 1) as parked_body,
         (select json_array(n, at, kind) from inbox where execution_id = execution.id order by n desc limit 1) as newest,
         exists (
           select 1
             from await_unit as unit
            where unit.execution_id = execution.id
              and unit.status = ${AWAIT_CODES.open}
              and (unit.next_at is not null
                   or exists (select 1 from interaction as open indexed by interaction_execution where open.execution_id = unit.execution_id and open.call = unit.call and open.status = ${INTERACTION_CODES.open}))) as asking,
         (select count(*) from (${CHILDREN})) as children,
         (select count(*) from (${CHILDREN}) where status < 10) as open_children,
         case when exists (select 1 from await_unit as unit where unit.execution_id = execution.id and unit.status <> ${AWAIT_CODES.open})
              then (select call from await_unit as unit where unit.execution_id = execution.id and unit.status <> ${AWAIT_CODES.open}
                    except
                    select name from inbox where execution_id = execution.id and kind = 'await-settled'
                    limit 1)
         end as untold_unit,
         case when exists (select 1 from execution as child indexed by execution_parent where child.parent_id = execution.id)
              then (select parent_call from (${CHILDREN}) where status >= 10
                    except
                    select parent_call from (${CHILDREN}) where status < 10
                    except
                    select name from inbox where execution_id = execution.id and kind = 'child-ended'
                    limit 1)
         end as untold_child,
         exists (select 1 from execution as parent where parent.id = execution.parent_id and parent.status >= 10)
         and not exists (select 1 from errand where errand.parent_id = execution.parent_id and errand.after_id < execution.id)
         and not exists (select 1 from inbox indexed by inbox_asked where execution_id = execution.id and kind = 'cancel' and kind in ('cancel', 'pause', 'resume')) as left_behind
    from execution
   where id = :id
     and status = 2`;

interface Row {
  readonly execution: ExecutionId;
  readonly project: ProjectName;
  readonly pipeline: PipelineName;
  readonly ready_at: Instant | null;
  readonly wake_after: number;
  readonly saga: number;
  readonly news: number;
  readonly parked_at: Instant | null;
  readonly parked_body: string | null;
  readonly newest: string | null;
  readonly asking: number;
  readonly children: number;
  readonly open_children: number;
  readonly untold_unit: string | null;
  readonly untold_child: string | null;
  readonly left_behind: number;
}

export function lookAtWaiting(tx: ReadTransaction, { after, limit }: Reconcile): Page {
  const found: Mark[] = [];
  // A project in which nothing waits is a step, too.
  let at: Mark | undefined =
    after === undefined ? nextProject(tx, '') : (JSON.parse(after) as Mark);
  for (let steps = 0; at !== undefined && steps < limit; steps += 1) {
    const [project, id]: Mark = at;
    const page = { project, id, limit: limit - found.length };
    const rows = tx.all<{ readonly id: string }>(WAITING, page);
    found.push(...rows.map((row): Mark => [project, row.id]));
    at = rows.length < page.limit ? nextProject(tx, project) : found.at(-1);
    if (found.length >= limit) break;
  }
  const broken = found.flatMap(([, id]) => {
    const facts = waitingFacts(tx, id);
    return facts === undefined ? [] : judgeWaiting(facts);
  });
  return { broken, ...(at === undefined ? {} : { next: JSON.stringify(at) }) };
}

/** After which one of which project. */
type Mark = readonly [project: string, id: string];

function nextProject(tx: ReadTransaction, after: string): Mark | undefined {
  const row = tx.get<{ readonly project: string }>(NEXT_PROJECT, { project: after });
  return row === undefined ? undefined : [row.project, ''];
}

/** Undefined when it does not wait. */
export function waitingFacts(tx: ReadTransaction, id: string): WaitingFacts | undefined {
  const row = tx.get<Row>(FACTS, { id });
  if (row === undefined) return undefined;
  const { execution, project, pipeline, news, children } = row;
  const newest = row.newest === null ? undefined : (JSON.parse(row.newest) as Newest);
  return {
    ...{ execution, project, pipeline, news, children },
    readyAt: row.ready_at ?? undefined,
    wakeAfter: row.wake_after,
    compensating: row.saga === SAGA_CODES.compensating,
    parkedAt: row.parked_at ?? undefined,
    parkedBody: row.parked_body ?? undefined,
    newest: newest && { n: newest[0], at: newest[1], kind: newest[2] },
    isAsking: row.asking === 1,
    openChildren: row.open_children,
    untoldUnit: row.untold_unit ?? undefined,
    untoldChild: row.untold_child ?? undefined,
    isLeftBehind: row.left_behind === 1,
  };
}

type Newest = readonly [n: number, at: Instant, kind: string];
