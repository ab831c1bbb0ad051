import type { ExecutionId } from '../../../execution/names.ts';
import type { FireSchedule, ScheduleFired } from '../../../features/schedules/port.ts';
import type { Submit, SubmitAnswer } from '../../contract/execution-store.ts';
import type { ReadTransaction, Transaction } from '../transaction.ts';
import { submit } from './submit.ts';

const NEXT = 'select min(next_at) as next_at from schedule where next_at is not null';

// whoever finds it where it was expected moves it on.
const MOVE = `
  update schedule
     set next_at = :nextAt
   where project = :project
     and id = :id
     and next_at = :expected -- guard: expected
     and digest = :digest -- guard: plan
  returning last_key`;

// What has the key: the execution of the last fire, or what it was continued as.
const OPEN = `
  select id
    from execution
   where project = :project
     and key = :key
     and status < 10`;

const NOTE = `
  update schedule
     set fired_at = :firedAt,
         last_execution = :execution,
         last_key = :key
   where project = :project
     and id = :id`;

/** for `maintain`. */
export function nextSchedule(tx: ReadTransaction): { readonly nextScheduleInMs?: number } {
  const next = tx.get<{ next_at: number | null }>(NEXT)?.next_at ?? null;
  return next === null ? {} : { nextScheduleInMs: Math.max(0, next - tx.now) };
}

/** What a schedule submits asks for no release, so there is always one. */
function idOf(answer: SubmitAnswer, { id }: Submit): ExecutionId {
  return 'id' in answer ? answer.id : id;
}

export function fireSchedule(tx: Transaction, request: FireSchedule): ScheduleFired {
  const { project, id, expected, digest, submits, firedAt } = request;
  const nextAt = request.nextAt ?? null;
  const moved = tx.get<{ last_key: string | null }>(MOVE, {
    ...{ project, id, expected, digest, nextAt },
  });
  if (moved === undefined) return { kind: 'moved' };
  if (request.skipsWhileOpen && moved.last_key !== null) {
    const open = tx.get<{ id: ExecutionId }>(OPEN, { project, key: moved.last_key });
    if (open !== undefined) return { kind: 'skipped', open: open.id };
  }
  const ids = submits.map((each) => idOf(submit(tx, each), each));
  const execution = ids.at(-1);
  if (execution !== undefined) {
    const key = submits.at(-1)?.key ?? null;
    tx.run(NOTE, { project, id, firedAt, execution, key });
  }
  return { kind: 'fired', ids };
}
