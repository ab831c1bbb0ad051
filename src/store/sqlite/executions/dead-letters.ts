import type {
  DeadLetter,
  DeadLetterGroup,
  DeadLetterRecord,
} from '../../../execution/dead-letter.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import { parseRoute } from '../../../execution/route.ts';
import type { GroupDeadLetters, ListDeadLetters } from '../../contract/repair-store.ts';
import {
  type DeadLetterGroupRow,
  type DeadLetterRow,
  fromDeadLetter,
  toDeadLetter,
  toDeadLetterGroup,
} from '../../repair-rows.ts';
import type { ReadTransaction, Transaction } from '../transaction.ts';

const COLUMNS =
  'execution_id, project, pipeline, release, status, category, code, reason, step, attempts, at, redriven_by';

// After the row has ended: its status and time are those of the end.
const WRITE = `
  insert into dead_letter (execution_id, project, pipeline, release, status, at,
                           category, code, reason, step, attempts)
  select id, project, :pipeline, :release, status, ended_at, :category, :code, :reason, :step, :attempts
    from execution
   where id = :id`;

const ROUTE = 'select pipeline from execution where id = :id';

const MARK_REDRIVEN = `
  update dead_letter
     set redriven_by = :by
   where execution_id = :of`;

const READ = `
  select ${COLUMNS}
    from dead_letter
   where execution_id = :id`;

const GROUPS = `
  select pipeline, code, step, count(*) as count, max(at) as at
    from dead_letter
   where project = :project
     and (:open = 0 or redriven_by is null)
   group by pipeline, code, step
   order by count(*) desc, max(at) desc`;

/** Y-10: in the transaction that has just ended the execution. */
export function writeDeadLetter(tx: Transaction, id: string, letter: DeadLetter): void {
  const { pipeline: route = '' } = tx.get<{ pipeline: string }>(ROUTE, { id }) ?? {};
  const { pipeline, release = null } = parseRoute(route);
  tx.run(WRITE, { id, pipeline, release, ...fromDeadLetter(letter) });
}

/** Y-22: where there is one. */
export function markRedriven(tx: Transaction, of: ExecutionId, by: ExecutionId): void {
  tx.run(MARK_REDRIVEN, { of, by });
}

export function deadLetter(tx: ReadTransaction, id: ExecutionId): DeadLetterRecord | undefined {
  const row = tx.get<DeadLetterRow>(READ, { id });
  return row === undefined ? undefined : toDeadLetter(row);
}

/** One filter leads by its index, in the order of ids; the others are checked on the way. */
export function deadLetters(
  tx: ReadTransaction,
  query: ListDeadLetters,
): readonly DeadLetterRecord[] {
  const { project, limit, before, pipeline, code, step, open } = query;
  const conditions = [
    ...(before === undefined ? [] : ['execution_id < :before']),
    ...(pipeline === undefined ? [] : ['pipeline = :pipeline']),
    ...(code === undefined ? [] : ['code = :code']),
    ...(step === undefined ? [] : ['step = :step']),
    ...(open === undefined ? [] : [`redriven_by is ${open ? '' : 'not '}null`]),
  ];
  const sql = `
  select ${COLUMNS}
    from dead_letter indexed by ${indexOf(query)}
   where project = :project
     ${conditions.map((condition) => `and ${condition}`).join('\n     ')}
   order by execution_id desc
   limit :limit`;
  const filters = {
    ...(before === undefined ? {} : { before }),
    ...(pipeline === undefined ? {} : { pipeline }),
    ...(code === undefined ? {} : { code }),
    ...(step === undefined ? {} : { step }),
  };
  return tx.all<DeadLetterRow>(sql, { project, limit, ...filters }).map(toDeadLetter);
}

function indexOf({ pipeline, code }: ListDeadLetters): string {
  if (code !== undefined) return 'dead_letter_code';
  return pipeline === undefined ? 'dead_letter_list' : 'dead_letter_pipeline';
}

export function deadLetterGroups(
  tx: ReadTransaction,
  { project, open = false }: GroupDeadLetters,
): readonly DeadLetterGroup[] {
  return tx.all<DeadLetterGroupRow>(GROUPS, { project, open: Number(open) }).map(toDeadLetterGroup);
}
