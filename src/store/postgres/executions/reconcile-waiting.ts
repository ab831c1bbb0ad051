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
import { type Queries, type Statement, statement } from '../database.ts';
import { lookUp } from '../predicates.ts';
import { uuids } from './arrays.ts';
import { FIRST_ID } from './reconcile-sessions.ts';

// As in list.ts: projects and pipelines by a loose scan, each a step of the page, whether something of it waits
// or not.
const KIND = 'e.project collate "POSIX", e.pipeline collate "POSIX"';

const waitingFrom = (first: '>=' | '>'): Statement =>
  statement(`
  with recursive kind as (
    (select e.project, e.pipeline, 1 as nth
       from hf.execution e
      where e.status <> 1
        and (${KIND}) ${first} ($1 collate "POSIX", $2 collate "POSIX")
      order by ${KIND}
      limit 1)
    union all
    select n.project, n.pipeline, k.nth + 1
      from kind k
     cross join lateral (
           select e.project, e.pipeline
             from hf.execution e
            where e.status <> 1
              and (${KIND}) > (k.project collate "POSIX", k.pipeline collate "POSIX")
            order by ${KIND}
            limit 1
           ) n
     where k.nth < $4
  )
  select k.project, k.pipeline, w.id
    from kind k
    left join lateral (
         select e.id
           from hf.execution e
          where e.project collate "POSIX" = k.project collate "POSIX"
            and e.pipeline collate "POSIX" = k.pipeline collate "POSIX"
            and e.status between 2 and 2
            and e.status <> 1
            and e.id > case when k.project = $1 and k.pipeline = $2 then $3::uuid else '${FIRST_ID}'::uuid end
          order by e.status, e.id
          limit $4
         ) w on true
   order by k.nth, w.id
   limit $4`);

const WAITING = waitingFrom('>=');

/** After all that the kind has. */
const WAITING_AFTER = waitingFrom('>');

const CHILDREN = `(
           select c.parent_call, c.status
             from hf.execution c
            where c.parent_id between e.id and e.id
              and c.project = e.project
            order by c.parent_id, c.id
            limit ${CHILDREN_MAX + 1})`;

const TOLD = 'select i.name collate "C" from hf.inbox i where i.execution_id = e.id and i.kind =';

// An inbox, which may be long, is read only where there is something to look for.
const FACTS = statement(`
  select e.id as execution, e.project, e.pipeline, e.ready_at, e.wake_after, e.saga, e.news,
         p.at as parked_at, p.body as parked_body, n.n as newest_n, n.at as newest_at, n.kind as newest_kind,
         c.children, c.open_children,
         exists (
           select
             from hf.await_unit u
            where u.execution_id = e.id
              and u.status = ${AWAIT_CODES.open}
              and (u.next_at is not null
                   or exists (select from hf.interaction i where i.execution_id = u.execution_id and i.call = u.call and coalesce(i.status = ${INTERACTION_CODES.open}, false)))) as asking,
         case when exists (select from hf.await_unit u where u.execution_id = e.id and u.status <> ${AWAIT_CODES.open})
              then (select u.call collate "C" from hf.await_unit u where u.execution_id = e.id and u.status <> ${AWAIT_CODES.open}
                    except
                    ${TOLD} 'await-settled'
                    limit 1)
         end as untold_unit,
         case when c.children > 0
              then (select c.parent_call collate "C" from ${CHILDREN} c where c.status >= 10
                    except
                    select c.parent_call collate "C" from ${CHILDREN} c where c.status < 10
                    except
                    ${TOLD} 'child-ended'
                    limit 1)
         end as untold_child,
         exists (select from hf.execution p where p.id = e.parent_id and coalesce(p.status >= 10, false))
         and not exists (select from hf.errand r where r.parent_id = e.parent_id and coalesce(r.after_id, '${FIRST_ID}'::uuid) < e.id)
         and not exists (select from hf.inbox i where i.execution_id = e.id and i.kind = 'cancel' and i.kind in ('cancel', 'pause', 'resume')) as left_behind
    from unnest($1::uuid[]) with ordinality as wanted(id, nth)
    join hf.execution e on ${lookUp('e.id', 'wanted.id')}
    left join lateral (select h.at, h.body from hf.history h where h.execution_id = e.id and h.kind = 'parked' order by h.seq desc limit 1) p on true
    left join lateral (select i.n, i.at, i.kind from hf.inbox i where i.execution_id = e.id order by i.n desc limit 1) n on true
   cross join lateral (select count(*)::integer as children, count(*) filter (where c.status < 10)::integer as open_children from ${CHILDREN} c) c
   where coalesce(e.status = 2, false)
   order by wanted.nth`);

interface WaitingRow {
  readonly project: ProjectName;
  readonly pipeline: PipelineName;
  readonly id: ExecutionId | null;
}

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
  readonly newest_n: number | null;
  readonly newest_at: Instant | null;
  readonly newest_kind: string | null;
  readonly children: number;
  readonly open_children: number;
  readonly asking: boolean;
  readonly untold_unit: string | null;
  readonly untold_child: string | null;
  readonly left_behind: boolean;
}

export async function lookAtWaiting(queries: Queries, { after, limit }: Reconcile): Promise<Page> {
  const from = after === undefined ? ['', ''] : (JSON.parse(after) as string[]);
  const waiting = from.length === 2 ? WAITING_AFTER : WAITING;
  const [project, pipeline, id = FIRST_ID] = from;
  const rows = await queries.rows<WaitingRow & object>(waiting, [project, pipeline, id, limit]);
  const facts = await waitingFacts(
    queries,
    rows.flatMap(({ id }) => id ?? []),
  );
  const broken = facts.flatMap(judgeWaiting);
  const last = rows.at(-1);
  if (last === undefined || rows.length < limit) return { broken };
  return {
    broken,
    next: JSON.stringify([last.project, last.pipeline, ...(last.id === null ? [] : [last.id])]),
  };
}

/** Of those that wait. */
export async function waitingFacts(
  queries: Queries,
  ids: readonly ExecutionId[],
): Promise<readonly WaitingFacts[]> {
  if (ids.length === 0) return [];
  const rows = await queries.rows<Row & object>(FACTS, [uuids(ids)]);
  return rows.map(toFacts);
}

function toFacts(row: Row): WaitingFacts {
  const { execution, project, pipeline, news, children } = row;
  const { newest_n, newest_at, newest_kind } = row;
  const hasNews = newest_n !== null && newest_at !== null && newest_kind !== null;
  return {
    ...{ execution, project, pipeline, news, children },
    readyAt: row.ready_at ?? undefined,
    wakeAfter: row.wake_after,
    compensating: row.saga === SAGA_CODES.compensating,
    parkedAt: row.parked_at ?? undefined,
    parkedBody: row.parked_body ?? undefined,
    newest: hasNews ? { n: newest_n, at: newest_at, kind: newest_kind } : undefined,
    isAsking: row.asking,
    openChildren: row.open_children,
    untoldUnit: row.untold_unit ?? undefined,
    untoldChild: row.untold_child ?? undefined,
    isLeftBehind: row.left_behind,
  };
}
