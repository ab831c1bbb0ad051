// All that an end does besides the row itself, whoever brings it about. The row is locked and saved.

import { decideSuccessor } from '../../../execution/decide/submit.ts';
import type { ExecutionRecord } from '../../../execution/execution.ts';
import type { Payload } from '../../../execution/names.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Submit } from '../../contract/execution-store.ts';
import { type Queries, statement } from '../database.ts';
import { tellParent } from './deliver.ts';
import { insertExecutions, noteLimit } from './insert-executions.ts';
import { freePlace, lockPlaces, savePlaces } from './places.ts';

const NOTE_CHILDREN = statement(`
  insert into hf.errand (parent_id)
  select $1::uuid
   where exists (select from hf.execution c where c.parent_id = $1)
      on conflict (parent_id) do update set after_id = null`);

const DROP_KEY = statement('update hf.execution e set key = null, intent = null where e.id = $1');

const IS_THERE = statement('select e.id from hf.execution e where e.id = $1');

export async function afterEnd(
  queries: Queries,
  before: ExecutionRecord,
  end: {
    readonly now: Instant;
    readonly outcome?: Payload | undefined;
    readonly successor?: Submit | undefined;
  },
): Promise<void> {
  const { now, outcome, successor } = end;
  const isPlaceTaken =
    successor !== undefined && (await follow(queries, before, { submit: successor, now }));
  if (!isPlaceTaken) await freePlace(queries, before, now);
  // Whoever goes on in its place tells the parent when it ends.
  if (before.parent !== undefined && successor === undefined) {
    await tellParent(queries, before.parent, outcome);
  }
  await queries.rows(NOTE_CHILDREN, [before.id]);
}

/** Whether the successor took the place over. The key goes with it. */
async function follow(
  queries: Queries,
  ended: ExecutionRecord,
  { submit, now }: { readonly submit: Submit; readonly now: Instant },
): Promise<boolean> {
  const there = await queries.rows(IS_THERE, [submit.id]);
  if (there.length > 0) return false;
  await queries.rows(DROP_KEY, [ended.id]);
  const { execution } = decideSuccessor(ended, submit, now);
  const { hasPlace, gated, key, intent } = execution;
  const { key: _, intent: __, ...rest } = submit;
  const keyed = {
    ...rest,
    ...(key === undefined ? {} : { key }),
    ...(intent === undefined ? {} : { intent }),
  };
  const book = await lockPlaces(queries, [submit]);
  noteLimit(submit, book);
  await savePlaces(queries, book);
  await insertExecutions(queries, [{ submit: keyed, hasPlace, gated }], true);
  return hasPlace;
}
