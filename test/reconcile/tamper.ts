// Changes that the verbs never make: bugs, restores and handwritten SQL do. SQL breaks the SQL
// stores.

import type { Status } from '../../src/execution/execution.ts';
import type { ExecutionId } from '../../src/execution/names.ts';
import { STATUS_CODES } from '../../src/store/execution-rows.ts';

export interface Tampered {
  readonly status?: Status;
  readonly readyAt?: number | null;
  readonly seq?: number;
  readonly news?: number;
  readonly wakeAfter?: number;
  readonly session?: null;
}

export interface Tamper {
  setExecution(id: ExecutionId, values: Tampered): Promise<void>;
  /** Removes its messages, and it does not know. */
  dropMessages(id: ExecutionId): Promise<void>;
  dropAwaits(id: ExecutionId): Promise<void>;
  /** Opens its units and their interactions, whatever their state was. */
  reopenAwaits(id: ExecutionId): Promise<void>;
  /** Removes the request to cancel its children. */
  dropErrand(parent: ExecutionId): Promise<void>;
  setTaken(key: string, taken: number): Promise<void>;
  dropLetter(id: ExecutionId): Promise<void>;
  setRedrivenBy(id: ExecutionId, by: ExecutionId): Promise<void>;
  setNext(schedule: string, nextAt: number | null): Promise<void>;
}

/** `at` names the schema of the tables. Numbers and texts need no escaping. */
export function tamperBySql(run: (sql: string) => Promise<void>, at: string): Tamper {
  const quoted = (value: string | number | null): string =>
    typeof value === 'string' ? `'${value}'` : String(value);
  return {
    async setExecution(id, { status, readyAt, seq, news, wakeAfter, session }) {
      const values = {
        ...(status === undefined ? {} : { status: STATUS_CODES[status] }),
        ...(readyAt === undefined ? {} : { ready_at: readyAt }),
        ...(seq === undefined ? {} : { seq }),
        ...(news === undefined ? {} : { news }),
        ...(wakeAfter === undefined ? {} : { wake_after: wakeAfter }),
        ...(session === undefined ? {} : { session_id: session }),
      };
      const set = Object.entries(values).map(([name, value]) => `${name} = ${quoted(value)}`);
      await run(`update ${at}execution set ${set.join(', ')} where id = '${id}'`);
    },
    async dropMessages(id) {
      await run(`delete from ${at}inbox where execution_id = '${id}'`);
      await run(`update ${at}execution set news = 0 where id = '${id}'`);
    },
    async dropAwaits(id) {
      await run(`delete from ${at}await_unit where execution_id = '${id}'`);
      await run(`delete from ${at}interaction where execution_id = '${id}'`);
    },
    async reopenAwaits(id) {
      await run(
        `update ${at}await_unit set status = 0, settled_at = null where execution_id = '${id}'`,
      );
      await run(`update ${at}interaction set status = 0 where execution_id = '${id}'`);
    },
    dropErrand: (parent) => run(`delete from ${at}errand where parent_id = '${parent}'`),
    setTaken: (key, taken) => run(`update ${at}place set taken = ${taken} where key = '${key}'`),
    dropLetter: (id) => run(`delete from ${at}dead_letter where execution_id = '${id}'`),
    setRedrivenBy: (id, by) =>
      run(`update ${at}dead_letter set redriven_by = '${by}' where execution_id = '${id}'`),
    setNext: (schedule, nextAt) =>
      run(`update ${at}schedule set next_at = ${quoted(nextAt)} where id = '${schedule}'`),
  };
}
