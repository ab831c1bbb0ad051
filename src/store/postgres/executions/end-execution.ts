// The consequences of an end beyond the row itself, for every cause of an end. The caller
// has locked and saved the row.

import { CANCELLED_OUTCOME, endAsCancelled } from '../../../execution/decide/command.ts';
import type { ExecutionRecord, Parent } from '../../../execution/execution.ts';
import type { Payload, ProjectName } from '../../../execution/names.ts';
import type { DeadLetter } from '../../../features/repair/model.ts';
import { assert } from '../../../support/assert.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Finish } from '../../contract/execution-store.ts';
import { toExecution } from '../../execution-rows.ts';
import { closeAwaits } from '../../sql/awaits.ts';
import { saveExecution, type WaitingEnd } from '../../sql/changes.ts';
import { writeDeadLetter } from '../../sql/dead-letters.ts';
import { appendEvent, lockExecution } from '../../sql/executions.ts';
import { native } from '../../sql/script.ts';
import { follow, type InsertSuccessor } from '../../sql/successor.ts';
import { type Queries, statement } from '../database.ts';
import { play } from '../gateway.ts';
import { wokenBy } from './finish-statement.ts';
import { insertExecutions } from './insert-executions.ts';
import { NOW } from './owner-guards.ts';
import { freeSlot, lockSlots, saveLimits } from './slots.ts';

const NOTE_CHILDREN = statement(`
  insert into hf.errand (parent_id)
  select $1::uuid
   where exists (select from hf.execution c where c.parent_id = $1)
      on conflict (parent_id) do update set after_id = null`);

type End = Pick<Finish, 'outcome' | 'successor' | 'inboxSeen' | 'unread'> & {
  readonly after: ExecutionRecord;
  readonly now: Instant;
  readonly deadLetter?: DeadLetter;
  /** False only if the execution certainly has no open awaits (W-9). */
  readonly leavesAwaits: boolean;
};

export async function afterEnd(queries: Queries, before: ExecutionRecord, end: End): Promise<void> {
  const { after, now, outcome, successor, deadLetter, leavesAwaits } = end;
  if (leavesAwaits) await play(queries, closeAwaits(before.id, now));
  if (deadLetter !== undefined) await play(queries, writeDeadLetter(after.id, deadLetter));
  const next =
    successor === undefined
      ? undefined
      : await play(queries, follow(before, { ...end, successor }, insertSuccessor));
  if (next?.execution.hasSlot !== true) await freeSlot(queries, before, now);
  if (next?.cancel !== undefined) {
    const row = await play(queries, lockExecution(next.execution.id));
    assert(row !== undefined, 'X-14: a successor that was inserted is stored');
    const cancelled = toExecution(row);
    const ended = endAsCancelled(cancelled, { ...next.cancel, now: row.now });
    await endWaiting(queries, cancelled, { ...ended, outcome: CANCELLED_OUTCOME });
  }
  // If there is a successor, its own end will notify the parent.
  const { parent, project } = before;
  if (parent !== undefined && successor === undefined) {
    await notifyParent(queries, { parent, project }, outcome);
  }
  await queries.rows(NOTE_CHILDREN, [before.id]);
}

const insertSuccessor: InsertSuccessor = ({ hasSlot, gated, key, intent }, submit) =>
  native(async (queries: Queries) => {
    const { key: _, intent: __, ...rest } = submit;
    const keyed = {
      ...rest,
      ...(key === undefined ? {} : { key }),
      ...(intent === undefined ? {} : { intent }),
    };
    // A successor that takes over the slot is not a new submit.
    if (!hasSlot) {
      const book = await lockSlots(queries, [submit]);
      await saveLimits(queries, book, [submit]);
    }
    await insertExecutions(queries, [{ submit: keyed, hasSlot, gated }], true);
  });

/** Ends a queued or waiting execution. */
export async function endWaiting(
  queries: Queries,
  before: ExecutionRecord,
  { execution: after, event, outcome, deadLetter }: WaitingEnd,
): Promise<void> {
  await play(queries, saveExecution(after));
  await play(queries, appendEvent(after.id, event));
  const letter = deadLetter === undefined ? {} : { deadLetter };
  await afterEnd(queries, before, { after, now: event.at, outcome, ...letter, leavesAwaits: true });
}

const NOTIFY_PARENT = statement(`
  with ${NOW},
  arrived as (
    update hf.execution p
       set ${wokenBy('1')}
      from now
     where p.id = $1
       and coalesce(p.status < 10, false) -- guard: ended
       and p.project = $4 -- guard: project
    returning p.id, p.news
  )
  insert into hf.inbox (execution_id, n, at, kind, name, body)
  select arrived.id, arrived.news, now.at, 'child-ended', $2, $3
    from arrived
   cross join now`);

/** Notifies the parent, unless it has ended or belongs to another project. */
async function notifyParent(
  queries: Queries,
  { parent, project }: { readonly parent: Parent; readonly project: ProjectName },
  outcome: Payload | undefined,
): Promise<void> {
  await queries.rows(NOTIFY_PARENT, [parent.id, parent.call, outcome ?? null, project]);
}
