// Repairs of what waits, and of what was waited for (Z-11, Z-12, Z-13).

import { deliver, type NewMessage } from '../../../execution/decide/deliver.ts';
import type { ExecutionRecord } from '../../../execution/execution.ts';
import type { CallKey, ExecutionId } from '../../../execution/names.ts';
import { INTERACTION_CODES } from '../../../features/awaits/rows.ts';
import {
  childMessage,
  hearing,
  judgeWaiting,
  settlementMessage,
  type WaitingFacts,
} from '../../../features/reconcile/decide.ts';
import type { InvariantName, Violation } from '../../../features/reconcile/model.ts';
import type { Instant } from '../../../support/clock.ts';
import {
  type HistoryRow,
  TERMINAL_FROM,
  toExecution,
  toHistoryEvent,
} from '../../execution-rows.ts';
import { type Queries, statement } from '../database.ts';
import { closeAwaits } from './awaits.ts';
import { deliverTo } from './deliver.ts';
import { waitingFacts } from './reconcile-waiting.ts';
import { lockExecution, saveExecution } from './rows.ts';
import { answeredOf, loadUnit } from './unit-rows.ts';

type Mend = (queries: Queries, violation: Violation) => Promise<boolean>;

const NOTE_PARENT = statement(`
  insert into hf.errand (parent_id)
  select e.parent_id
    from hf.execution e
   where e.id = $1
      on conflict (parent_id) do update set after_id = null`);

// The end of a chain of continuations has the greatest id.
const LAST_CHILD = statement(`
  select c.id, coalesce(c.status >= 10, false) as ended, h.*
    from (select c.id, c.status
            from hf.execution c
           where c.parent_id between $1 and $1
             and c.parent_call = $2
             and c.project = (select e.project from hf.execution e where e.id = $1)
           order by c.parent_id desc, c.id desc
           limit 1) c
   cross join lateral (
         select h.seq, h.at, h.fence, h.kind, h.name, h.body
           from hf.history h
          where h.execution_id = c.id
          order by h.seq desc
          limit 1) h`);

const LEFT_OPEN = statement(`
  select 1 as open
    from hf.interaction i
   where i.execution_id = $1
     and coalesce(i.status = ${INTERACTION_CODES.open}, false)
   limit 1`);

/** Locked, and as it was found. */
interface Broken {
  readonly facts: WaitingFacts;
  readonly execution: ExecutionRecord;
  readonly about: string;
  readonly now: Instant;
}

export const WAITING_MENDS: Readonly<Partial<Record<InvariantName, Mend>>> = {
  'settlement-not-told': whileBroken(async (queries, broken) => {
    const place = { execution: broken.execution.id, call: broken.about as CallKey };
    const { unit } = await loadUnit(queries, place);
    if (unit === undefined) return false;
    return tell(queries, broken, settlementMessage(unit, await answeredOf(queries, place)));
  }),
  'child-end-not-told': whileBroken(async (queries, broken) => {
    const { about, execution } = broken;
    type Row = HistoryRow & { readonly id: ExecutionId; readonly ended: boolean };
    const [last] = await queries.rows<Row & object>(LAST_CHILD, [execution.id, about]);
    if (last?.ended !== true) return false;
    const message = childMessage({ id: last.id, call: about }, toHistoryEvent(last));
    return tell(queries, broken, message);
  }),
  'news-not-heard': whileBroken(async (queries, { facts, execution, now }) => {
    await saveExecution(queries, hearing(execution, facts.newest?.n ?? 0, now));
    return true;
  }),
  'child-of-the-ended': whileBroken(async (queries, { execution }) => {
    await queries.rows(NOTE_PARENT, [execution.id]);
    return true;
  }),
  'await-of-the-ended': async (queries, { execution: id }) => {
    const row = id === undefined ? undefined : await lockExecution(queries, id);
    if (id === undefined || row === undefined || row.status < TERMINAL_FROM) return false;
    if ((await queries.rows(LEFT_OPEN, [id])).length === 0) return false;
    await closeAwaits(queries, id, row.now as Instant);
    return true;
  },
};

/** Of one that waits, and is as it was found. */
function whileBroken(act: (queries: Queries, broken: Broken) => Promise<boolean>): Mend {
  return async (queries, { invariant, execution: id, about = '' }) => {
    const row = id === undefined ? undefined : await lockExecution(queries, id);
    if (row === undefined || id === undefined) return false;
    const [facts] = await waitingFacts(queries, [id]);
    if (facts === undefined) return false;
    const isAsFound = judgeWaiting(facts).some(
      (each) => each.invariant === invariant && (each.about ?? '') === about,
    );
    if (!isAsFound) return false;
    return act(queries, { facts, execution: toExecution(row), about, now: row.now as Instant });
  };
}

async function tell(
  queries: Queries,
  { execution, now }: Broken,
  message: NewMessage | undefined,
): Promise<boolean> {
  if (message === undefined) return false;
  await deliverTo(queries, deliver(execution, message, now), undefined);
  return true;
}
