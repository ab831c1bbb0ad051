// The statements of finish, with and without parents, and with and without dead letters. An
// execution that compensates stays marked (Y-2). One that was only compensable loses the mark.

import type { Statement } from '../database.ts';
import { equalsByIndex } from '../predicates.ts';
import {
  APPEND_DONE,
  aliveOf,
  bothWays,
  follows,
  NOW,
  ownedBy,
  resultsOf,
} from './owner-guards.ts';

// Locks items and their parents in one order before anything is written. A statement can write a
// row only once. So an execution that is also a parent in this flush gets its own transaction.
const LOCK_PARENTS = `
  above as materialized (
    select distinct e.parent_id as id
      from unnest($3::uuid[]) as u(id)
      join hf.execution e on ${equalsByIndex('e.id', 'u.id')}
     where coalesce(e.parent_id is not null, false)
  ),
  kin as materialized (
    select k.id
      from (select u.id from unnest($3::uuid[]) as u(id) union select a.id from above a order by 1) k
     cross join lateral (select from hf.execution e where e.id = k.id for no key update of e) l
  ),`;

/** The effect of `n` ended children on the waiting row `p`, including its wakeup. */
export function wokenBy(n: string): string {
  const wakes = `p.status = 2 and p.wake_after <= ${n}`;
  return `news       = p.news + ${n},
           wake_after = case when p.status = 2 then greatest(p.wake_after - ${n}, 0) else p.wake_after end,
           status     = case when ${wakes} then 0 else p.status end,
           ready_at   = case when ${wakes} then least(coalesce(p.ready_at, now.at), now.at) else p.ready_at end`;
}

// The second lock returns the newest row with the current inbox count. `told` runs after all of
// `mail`, which it aggregates.
const NOTIFY_PARENTS = `,
  mail as materialized (
    select d.parent_id, d.parent_call, d.outcome, p.news + row_number() over (partition by d.parent_id order by d.nth) as n
      from done d
     cross join lateral (
           select p.news
             from hf.execution p
            where p.id = d.parent_id
              and coalesce(p.status < 10, false) -- guard: parent-ended
              and p.project = d.project -- guard: parent-project
              for no key update of p
           ) p
  ),
  woken as (
    update hf.execution p
       set ${wokenBy('m.n')}
      from (select m.parent_id, count(*)::integer as n from mail m group by m.parent_id) m
     cross join now
     where ${equalsByIndex('p.id', 'm.parent_id')}
  ),
  posted as (
    insert into hf.inbox (execution_id, n, at, kind, name, body)
    select m.parent_id, m.n, (select now.at from now), 'child-ended', m.parent_call, m.outcome
      from mail m
  )`;

// Columns of dead letters (Y-10), which most flushes do not need.
const LETTER_COLUMNS = `, $18::text[], $19::text[], $20::text[], $21::text[], $22::integer[]`;

const LETTER = ', e.pipeline, e.status, u.category, u.code, u.reason, u.step, u.attempts';

const WRITE_LETTERS = `,
  lettered as (
    insert into hf.dead_letter (execution_id, project, pipeline, release, status, at, category, code, reason, step, attempts)
    select d.id, d.project, split_part(d.pipeline, chr(31), 1), nullif(split_part(d.pipeline, chr(31), 2), ''), d.status, (select now.at from now), d.category, d.code, d.reason, d.step, d.attempts
      from done d
     where d.category is not null
  )`;

export interface Finishing {
  /** Some executions have a parent. */
  readonly children: boolean;
  /** Some executions leave a dead letter. */
  readonly letters: boolean;
}

function finishing({ children, letters }: Finishing, isKnown: boolean): string {
  const alone = children
    ? 'e.id not in (select a.id from above a) and (select count(*) from kin) >= 0'
    : 'e.parent_id is null';
  return `
  with ${NOW},
  ${aliveOf('$1::uuid[]')},${children ? LOCK_PARENTS : ''}
  done as (
    update hf.execution e
       set status     = coalesce(u.status, $15::smallint),
           ended_at   = (select now.at from now),
           seq        = u.first + coalesce(u.count, 1) - 1,
           session_id = null,
           ready_at   = null,
           hold       = 0,
           saga       = e.saga & 2::smallint
      from unnest($2::integer[], $3::uuid[], $4::bigint[], $5::integer[], $6::integer[], $7::text[], $8::text[], $9::text[], $10::text[], $13::smallint[], $14::text[], $17::integer[]${letters ? LETTER_COLUMNS : ''})
           with ordinality as u(session, id, fence, first, count, kind, name, body, earlier, status, outcome, seen${letters ? ', category, code, reason, step, attempts' : ''}, nth)
     where ${ownedBy('$1::uuid[]')}
       ${follows(isKnown)}
       and (u.seen is null or e.news <= u.seen) -- guard: news
       and not e.has_place -- guard: place
       and not e.early -- guard: early
       and ${alone} -- guard: kin
    returning u.nth, e.id, e.fence, e.seq, u.first, coalesce(u.kind, $11) as kind, coalesce(u.name, $12) as name, u.body, u.earlier, e.project, e.parent_id, e.parent_call, u.outcome${letters ? LETTER : ''}
  ),
  ${APPEND_DONE},
  noted as (
    insert into hf.errand (parent_id)
    select d.id
      from done d
     where (select c.id from hf.execution c where c.parent_id = d.id limit 1) is not null
        on conflict (parent_id) do update set after_id = null
  )${letters ? WRITE_LETTERS : ''}${children ? NOTIFY_PARENTS : ''}
  select (select now.at from now) as at, ${resultsOf('d', '$16::integer')}
    from done d`;
}

type BothWays = (isKnown: boolean) => Statement;

const of = (which: Finishing): BothWays => bothWays((isKnown) => finishing(which, isKnown));

const ALONE = of({ children: false, letters: false });
const ALONE_LETTERS = of({ children: false, letters: true });
const CHILDREN = of({ children: true, letters: false });
const CHILDREN_LETTERS = of({ children: true, letters: true });

export function finishStatement({ children, letters }: Finishing, isKnown: boolean): Statement {
  if (children) return (letters ? CHILDREN_LETTERS : CHILDREN)(isKnown);
  return (letters ? ALONE_LETTERS : ALONE)(isKnown);
}
