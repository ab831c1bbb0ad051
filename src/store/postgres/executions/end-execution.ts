// All that an end does besides the row itself, whoever brings it about. The row is locked and saved.

import { CANCELLED_OUTCOME, endAsCancelled } from '../../../execution/decide/command.ts';
import type { ExecutionRecord } from '../../../execution/execution.ts';
import type { ExecutionId, Payload } from '../../../execution/names.ts';
import type { DeadLetter } from '../../../features/repair/model.ts';
import { fromDeadLetter } from '../../../features/repair/rows.ts';
import { assert } from '../../../support/assert.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Finish } from '../../contract/execution-store.ts';
import { STATUS_CODES, toExecution } from '../../execution-rows.ts';
import { type Queries, statement } from '../database.ts';
import { closeAwaits } from './awaits.ts';
import { tellParent } from './deliver.ts';
import { freePlace } from './places.ts';
import { appendEvents, lockExecution, saveExecution } from './rows.ts';
import { follow } from './successor.ts';

const NOTE_CHILDREN = statement(`
  insert into hf.errand (parent_id)
  select $1::uuid
   where exists (select from hf.execution c where c.parent_id = $1)
      on conflict (parent_id) do update set after_id = null`);

export type End = Pick<Finish, 'outcome' | 'successor' | 'newsSeen' | 'unread'> & {
  readonly after: ExecutionRecord;
  readonly now: Instant;
  readonly deadLetter?: DeadLetter;
  /** Unless it is known that there are none, they are looked for (W-9). */
  readonly leavesAwaits: boolean;
};

export async function afterEnd(queries: Queries, before: ExecutionRecord, end: End): Promise<void> {
  const { after, now, outcome, successor, deadLetter, leavesAwaits } = end;
  if (leavesAwaits) await closeAwaits(queries, before.id, now);
  if (deadLetter !== undefined) await writeDeadLetter(queries, after, deadLetter);
  const next =
    successor === undefined ? undefined : await follow(queries, before, { ...end, successor });
  if (next?.execution.hasPlace !== true) await freePlace(queries, before, now);
  if (next?.cancel !== undefined) await cancelAtOnce(queries, next.execution.id, next.cancel);
  // Whoever goes on in its place tells the parent when it ends.
  const { parent, project } = before;
  if (parent !== undefined && successor === undefined) {
    await tellParent(queries, { parent, project }, outcome);
  }
  await queries.rows(NOTE_CHILDREN, [before.id]);
}

async function cancelAtOnce(
  queries: Queries,
  id: ExecutionId,
  said: { readonly body?: Payload },
): Promise<void> {
  const row = await lockExecution(queries, id);
  assert(row !== undefined, 'X-14: a successor that was inserted is stored');
  const now = row.now as Instant;
  const successor = toExecution(row);
  const { execution, event } = endAsCancelled(successor, { ...said, now });
  await saveExecution(queries, execution);
  await appendEvents(queries, id, [event]);
  const end = { after: execution, now, outcome: CANCELLED_OUTCOME, leavesAwaits: false };
  await afterEnd(queries, successor, end);
}

const WRITE_LETTER = statement(`
  insert into hf.dead_letter (execution_id, project, pipeline, status, at, category, code, reason, step, attempts, release)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`);

/** Y-10: in the transaction that ends the execution. */
async function writeDeadLetter(
  queries: Queries,
  ended: ExecutionRecord,
  letter: DeadLetter,
): Promise<void> {
  const { id, project, pipeline, status, endedAt, release = null } = ended;
  const { category, code, reason, step, attempts } = fromDeadLetter(letter);
  const told = [category, code, reason, step, attempts, release];
  await queries.rows(WRITE_LETTER, [id, project, pipeline, STATUS_CODES[status], endedAt, ...told]);
}
