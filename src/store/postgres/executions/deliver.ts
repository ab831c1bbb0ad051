// What outsiders tell an execution: with the row locked, numbered by the news it counts.

import type { Delivery } from '../../../execution/decide/deliver.ts';
import type { Parent } from '../../../execution/execution.ts';
import type { Payload, ProjectName } from '../../../execution/names.ts';
import type { SessionId } from '../../../lease/names.ts';
import { type Queries, statement } from '../database.ts';
import { NOW } from './owner-guards.ts';
import { postMessage, saveExecution } from './rows.ts';

/** What `n` ended children make of the waiting row `p`: woken when that was enough. */
export function wokenBy(n: string): string {
  const wakes = `p.status = 2 and p.wake_after <= ${n}`;
  return `news       = p.news + ${n},
           wake_after = case when p.status = 2 then greatest(p.wake_after - ${n}, 0) else p.wake_after end,
           status     = case when ${wakes} then 0 else p.status end,
           ready_at   = case when ${wakes} then least(coalesce(p.ready_at, now.at), now.at) else p.ready_at end`;
}

const TELL_PARENT = statement(`
  with ${NOW},
  told as (
    update hf.execution p
       set ${wokenBy('1')}
      from now
     where p.id = $1
       and coalesce(p.status < 10, false) -- guard: ended
       and p.project = $4 -- guard: project
    returning p.id, p.news
  )
  insert into hf.inbox (execution_id, n, at, kind, name, body)
  select told.id, told.news, now.at, 'child-ended', $2, $3
    from told
   cross join now`);

/** unless the parent has ended, or is of another project. */
export async function tellParent(
  queries: Queries,
  { parent, project }: { readonly parent: Parent; readonly project: ProjectName },
  outcome: Payload | undefined,
): Promise<void> {
  await queries.rows(TELL_PARENT, [parent.id, parent.call, outcome ?? null, project]);
}

// The next heartbeat makes the holder look. `no key update`: owners' locks do not wait for it.
const NOTICE = statement('update hf.session s set notices = s.notices + 1 where s.id = $1');

/** The row is locked. */
export async function deliverTo(
  queries: Queries,
  { execution, message }: Delivery,
  owner: SessionId | undefined,
): Promise<void> {
  await saveExecution(queries, execution);
  await postMessage(queries, execution.id, message);
  if (owner !== undefined) await queries.rows(NOTICE, [owner]);
}
