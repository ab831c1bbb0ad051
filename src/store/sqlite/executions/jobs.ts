import type { ExecutionId } from '../../../execution/names.ts';
import type { ExecutionMoved } from '../../../features/releases/port.ts';
import type {
  JobItem,
  ListJobItems,
  NoteJobItem,
  RedriveAnswer,
} from '../../../features/repair/port.ts';
import {
  fromItemAnswer,
  type JobItemRow,
  toItemAnswer,
  toJobItem,
} from '../../../features/repair/rows.ts';
import type { CommandAnswer } from '../../contract/execution-store.ts';
import type { ReadTransaction, Transaction } from '../transaction.ts';

const KEPT = 'select answer from job_item where job_id = :job and target = :target';

const KEEP = `
  insert into job_item (job_id, target, outcome, made, at, answer)
  values (:job, :target, :outcome, :made, :now, :answer)`;

const NOTE = `
  insert into job_item (job_id, target, outcome, at, answer)
  values (:job, :target, :outcome, :now, :answer)
  on conflict (job_id, target) do nothing`;

const LIST = `
  select target, outcome, made, at
    from job_item
   where job_id = :job
     and target > :after
   order by target
   limit :limit`;

type AnyAnswer = CommandAnswer | RedriveAnswer | ExecutionMoved;

/** Which item of which job; of none for whoever asks outside of one. */
export interface OfJob {
  readonly job: ExecutionId | undefined;
  readonly target: ExecutionId;
}

/** Y-23: what was answered before is answered again; what is done now is kept, refusals too. */
export function onceOfJob<Answer extends AnyAnswer>(
  tx: Transaction,
  { job, target }: OfJob,
  act: () => Answer,
): Answer {
  if (job === undefined) return act();
  const kept = tx.get<{ answer: string }>(KEPT, { job, target });
  if (kept !== undefined) return toItemAnswer<Answer>(kept.answer);
  const answer = act();
  tx.run(KEEP, { job, target, now: tx.now, ...fromItemAnswer(answer) });
  return answer;
}

/** The first one stays. */
export function noteJobItem(tx: Transaction, { job, target, outcome }: NoteJobItem): void {
  const answer = JSON.stringify({ kind: 'refused', why: outcome });
  tx.run(NOTE, { job, target, outcome, now: tx.now, answer });
}

export function jobItems(tx: ReadTransaction, query: ListJobItems): readonly JobItem[] {
  const { job, limit } = query;
  return tx.all<JobItemRow>(LIST, { job, limit, after: query.after ?? '' }).map(toJobItem);
}
