import { decideCancel } from '../../../execution/decide/command.ts';
import { decideOverdue, PARENT_ENDED } from '../../../execution/decide/overdue.ts';
import type { ExecutionId, ProjectName } from '../../../execution/names.ts';
import type { Maintain, Maintained } from '../../contract/execution-store.ts';
import { toExecution } from '../../execution-rows.ts';
import { saveExecution } from '../../sql/changes.ts';
import { isDone, obey } from '../../sql/commands.ts';
import { appendEvent } from '../../sql/executions.ts';
import { positional } from '../connection.ts';
import { play } from '../gateway.ts';
import type { Transaction } from '../transaction.ts';
import { endWaiting } from './end-execution.ts';
import { nextSchedule } from './fire-schedule.ts';
import { COLUMNS, loadRows } from './load-execution.ts';
import { NATIVES } from './natives.ts';

// What runs stays in the index: its owner knows the deadline.
const OVERDUE = positional(
  'now limit',
  `
  select ${COLUMNS}
    from execution indexed by execution_deadline
   where deadline_at is not null
     and ended_at is null
     and deadline_at <= :now
     and (status = 0 or status = 2)
   order by deadline_at, id
   limit :limit`,
);

const FIRST_ERRAND = 'select parent_id, after_id from errand order by parent_id limit 1';

const OPEN_CHILDREN = `
  select id
    from execution indexed by execution_parent
   where parent_id = :parent
     and id > :after
     and ended_at is null
   order by id
   limit :limit`;

const GO_ON = 'update errand set after_id = :after where parent_id = :parent';

const DONE = 'delete from errand where parent_id = :parent';

export function maintain(tx: Transaction, { limit }: Maintain): Omit<Maintained, 'forgotten'> {
  const rows = loadRows(tx, OVERDUE, tx.now, limit + 1);
  const overdue = rows.slice(0, limit).flatMap((row): readonly ExecutionId[] => {
    const decision = decideOverdue(toExecution(row), tx.now);
    if (decision === undefined) return [];
    if (decision.kind === 'end') endWaiting(tx, row, decision);
    else {
      play(tx, saveExecution(decision.execution));
      play(tx, appendEvent(decision.execution.id, decision.event));
      tx.ring();
    }
    return [row.id as ExecutionId];
  });
  const orphans = cancelOrphans(tx, limit);
  const more = rows.length > limit || orphans.more;
  return { overdue, cancelled: orphans.cancelled, more, ...nextSchedule(tx) };
}

/** each open child of an ended parent is asked once; one that is gone needs no asking. */
function cancelOrphans(
  tx: Transaction,
  limit: number,
): { readonly cancelled: number; readonly more: boolean } {
  let cancelled = 0;
  for (;;) {
    const errand = tx.get<{ parent_id: string; after_id: string }>(FIRST_ERRAND);
    if (errand === undefined) return { cancelled, more: false };
    const parent = errand.parent_id;
    const missing = limit - cancelled;
    const children = tx.all<{ id: ExecutionId }>(OPEN_CHILDREN, {
      parent,
      after: errand.after_id,
      limit: missing + 1,
    });
    const asked = children.slice(0, missing);
    for (const { id } of asked) if (askToCancel(tx, id)) cancelled += 1;
    if (children.length <= missing) {
      tx.run(DONE, { parent });
    } else {
      const after = asked.at(-1)?.id ?? errand.after_id;
      tx.run(GO_ON, { parent, after });
      if (cancelled >= limit) return { cancelled, more: true };
    }
  }
}

function askToCancel(tx: Transaction, id: ExecutionId): boolean {
  const asked = obey(NATIVES, { id }, (view, request, now) => {
    const project = view.execution?.project ?? ('' as ProjectName);
    return decideCancel(view, { ...request, project, body: PARENT_ENDED }, now);
  });
  const isAsked = isDone(play(tx, asked));
  if (isAsked) tx.ring();
  return isAsked;
}
