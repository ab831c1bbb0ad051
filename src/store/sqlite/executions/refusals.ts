import {
  REFUSED_WRITES_MAX,
  type RefusedWrite,
  type RefusedWrites,
} from '../../../execution/refused-write.ts';
import { type RefusedWriteRow, toRefusedWrite } from '../../audit-rows.ts';
import type { ListRefusals } from '../../contract/audit-store.ts';
import type { ReadTransaction, Transaction } from '../transaction.ts';

const COLUMNS =
  'execution_id, fence, verb, project, why, newest, session_id, owner, count, first_at, last_at';

// As `addRefusedWrites` says it.
const ADD = `
  insert into refused_write as r (${COLUMNS})
  values (:execution, :fence, :verb, :project, :why, :newest, :session, :owner, :count, :firstAt, :lastAt)
  on conflict (execution_id, fence, verb) do update
     set why = iif(excluded.last_at >= r.last_at, excluded.why, r.why),
         newest = iif(excluded.last_at >= r.last_at, excluded.newest, r.newest),
         session_id = iif(excluded.last_at >= r.last_at, excluded.session_id, r.session_id),
         owner = iif(excluded.last_at >= r.last_at, excluded.owner, r.owner),
         count = r.count + excluded.count,
         first_at = min(r.first_at, excluded.first_at),
         last_at = max(r.last_at, excluded.last_at)`;

// J-12.
const FORGET = `
  delete from refused_write
   where project = :project
     and (last_at, execution_id, fence, verb) < (
           select last_at, execution_id, fence, verb
             from refused_write indexed by refused_write_last
            where project = :project
            order by last_at desc, execution_id desc, fence desc, verb desc
            limit 1 offset ${REFUSED_WRITES_MAX - 1})`;

/** J-11, J-12. */
export function noteRefusals(tx: Transaction, batch: readonly RefusedWrites[]): void {
  for (const { firstAgoMs, lastAgoMs, newest = null, ...told } of batch) {
    const times = { firstAt: tx.now - firstAgoMs, lastAt: tx.now - lastAgoMs };
    tx.run(ADD, { ...told, newest, ...times });
  }
  for (const project of new Set(batch.map((told) => told.project))) tx.run(FORGET, { project });
}

export function refusals(tx: ReadTransaction, query: ListRefusals): readonly RefusedWrite[] {
  const { project, execution, before, limit } = query;
  const conditions = [
    ...(execution === undefined ? [] : ['and execution_id = :execution']),
    ...(before === undefined
      ? []
      : ['and (last_at, execution_id, fence, verb) < (:lastAt, :of, :fence, :verb)']),
  ];
  const sql = `
  select ${COLUMNS}
    from refused_write${execution === undefined ? ' indexed by refused_write_last' : ''}
   where project = :project
     ${conditions.join('\n     ')}
   order by last_at desc, execution_id desc, fence desc, verb desc
   limit :limit`;
  const filters = {
    ...(execution === undefined ? {} : { execution }),
    ...(before === undefined
      ? {}
      : { lastAt: before.lastAt, of: before.execution, fence: before.fence, verb: before.verb }),
  };
  return tx.all<RefusedWriteRow>(sql, { project, limit, ...filters }).map(toRefusedWrite);
}
