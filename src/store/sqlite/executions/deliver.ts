import type { Status } from '../../../execution/execution.ts';
import type { InboxMessage } from '../../../execution/history.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import type { SessionId } from '../../../lease/names.ts';
import { toStatus } from '../../execution-rows.ts';
import { positional } from '../connection.ts';
import type { Transaction } from '../transaction.ts';

// the end of a child counts down and wakes at zero; anything else wakes a waiting execution at
// once. A timer that is due already is left alone: it says how long the execution has been ready.
const ARRIVE = positional(
  'id isChild now project',
  `
  update execution
     set news = news + 1,
         wake_after = wake_after - (:isChild and status = 2 and wake_after > 0),
         ready_at = case
                      when status = 2 and (not :isChild or wake_after <= 1)
                      then min(coalesce(ready_at, :now), :now)
                      else ready_at
                    end,
         status = case when status = 2 and (not :isChild or wake_after <= 1) then 0 else status end
   where id = :id
     and status < 10 -- guard: open
     and project = coalesce(:project, project) -- guard: project
  returning news, status, session_id`,
);

const PUT = positional(
  'id n now kind name body',
  `
  insert into inbox (execution_id, n, at, kind, name, body)
  values (:id, :n, :now, :kind, :name, :body)`,
);

export interface Delivered {
  readonly status: Status;
  /** Of the owner that must be told. */
  readonly session: SessionId | undefined;
}

/** counted and kept in one step. Undefined when there is nobody who could read it any more. */
export function deliver(
  tx: Transaction,
  id: ExecutionId,
  message: {
    readonly kind: InboxMessage['kind'];
    readonly name: string | null;
    readonly body: string | null;
    /** of who tells it, where that is another execution. */
    readonly project?: string;
  },
): Delivered | undefined {
  const { kind, name, body, project = null } = message;
  const isChild = kind === 'child-ended' ? 1 : 0;
  const arriving =
    tx.arrays<readonly [news: number, status: number, session: string | null]>(ARRIVE);
  const values = arriving.get(id, isChild, tx.now, project);
  if (values === undefined) return undefined;
  const [news, status, session] = values;
  tx.statement(PUT).run(id, news, tx.now, kind, name, body);
  const after = toStatus(status);
  // It was waiting, or is queued still; a ring too many is harmless.
  if (after === 'queued') tx.ring();
  return { status: after, session: session === null ? undefined : (session as SessionId) };
}
