import type { ClientBase } from 'pg';
import { refuseTransact } from '../../../execution/decide/owner.ts';
import { historyEvents } from '../../../execution/decide/record.ts';
import type { HistoryEvent } from '../../../execution/history.ts';
import { assert } from '../../../support/assert.ts';
import { InvalidInput } from '../../../support/fault.ts';
import type { Transact, Transacted } from '../../contract/execution-store.ts';
import { saveExecution } from '../../sql/changes.ts';
import { type Attempted, type Queries, statement } from '../database.ts';
import { refuseSealed } from '../export/seal.ts';
import { play } from '../gateway.ts';
import { haltIfAhead } from '../halt.ts';
import { lend } from './lent-connection.ts';
import type { Parts } from './parts.ts';
import { appendEvents, carryOut, type LockedView, lockForOwner } from './write.ts';

/** The user's work runs on the connection whose transaction appends. */
export async function transact<Result>(
  parts: Parts,
  request: Transact<Result>,
): Promise<Transacted<Result>> {
  const outcome = await parts.database.attempt<Transacted<Result>>(async (queries, client) => {
    const view = await lockForOwner(queries, request, 0);
    const refusal = refuseTransact(view, request);
    if (refusal !== undefined) return { keep: false, result: { kind: 'refused', ...refusal } };
    return runWork(queries, { client, request, view });
  }, parts.boundaries);
  if (outcome.kind === 'refused') {
    await refuseSealed(parts.database);
    await haltIfAhead(parts.database, request.fence, outcome);
  }
  const isWakeup = request.children !== undefined || request.awaits !== undefined;
  if (outcome.kind === 'recorded' && isWakeup) parts.wakeups.notify();
  return outcome;
}

const WORK_IDLE_MS_MAX = 15_000;

interface Run<Result> {
  readonly client: ClientBase;
  readonly request: Transact<Result>;
  readonly view: LockedView;
}

// Locking a row assigns a transaction id. It changes if the work ends the transaction by itself.
const TRANSACTION = statement('select pg_current_xact_id_if_assigned()::text as id');

// Limits the pause between two statements of the work. After it, the server ends the transaction,
// so that another worker can replace a frozen one (P4).
const BEGUN = statement(`
  select pg_current_xact_id_if_assigned()::text as id,
         set_config('idle_in_transaction_session_timeout', '${WORK_IDLE_MS_MAX}', true)`);

async function runWork<Result>(
  queries: Queries,
  { client, request, view }: Run<Result>,
): Promise<Attempted<Transacted<Result>>> {
  const { now, execution } = view;
  assert(execution !== undefined, 'X-23: work runs for an execution that exists');
  const { seq, fence, progress } = request;
  const begun = await queries.rows<{ id: string | null }>(BEGUN, []);
  const lent = lend(client);
  let result: Result;
  let events: readonly HistoryEvent[];
  try {
    result = await request.work(lent.connection);
    events = historyEvents(request.events(result), { seq, at: now, fence });
    // This also throws if the work caught a server error: such a transaction can only be rolled
    // back.
    const { rows } = (await lent.connection.query(TRANSACTION.text)) as { rows: typeof begun };
    if (rows[0]?.id !== begun[0]?.id) {
      throw new InvalidInput(
        'The code ended the transaction of its step. Nothing was recorded. Leave the transaction open.',
      );
    }
  } catch (error) {
    return { keep: false, result: { kind: 'threw', error } };
  } finally {
    lent.end();
  }
  await appendEvents(queries, request.id, events);
  const after = progress === undefined ? execution : { ...execution, progress };
  if (after !== execution) await play(queries, saveExecution(after));
  const { inboxCount } = await carryOut(queries, { request, execution: after, now });
  return { keep: true, result: { kind: 'recorded', inboxCount, at: now, result } };
}
