// Repairs of what waits (Z-11, Z-12, Z-13).

import type { NewMessage } from '../../../execution/decide/deliver.ts';
import type { CallKey, ExecutionId } from '../../../execution/names.ts';
import {
  childMessage,
  hearing,
  judgeWaiting,
  settlementMessage,
  type WaitingFacts,
} from '../../../features/reconcile/decide.ts';
import type { InvariantName, Violation } from '../../../features/reconcile/model.ts';
import { type HistoryRow, toExecution, toHistoryEvent } from '../../execution-rows.ts';
import type { Transaction } from '../transaction.ts';
import { deliver } from './deliver.ts';
import { loadAnswered, loadUnit } from './load-await.ts';
import { loadRow } from './load-execution.ts';
import { waitingFacts } from './reconcile-waiting.ts';
import { addErrand } from './submit.ts';

type Mend = (tx: Transaction, violation: Violation) => boolean;

const PARENT = 'select parent_id from execution where id = :execution';

const HEAR = `
  update execution
     set status = 0,
         ready_at = :readyAt,
         news = :news
   where id = :execution
     and status = 2`;

// The end of a chain of continuations has the greatest id.
const LAST_CHILD = `
  select child.id, child.status >= 10 as ended
    from execution as child indexed by execution_parent
   where child.parent_id = :execution
     and child.parent_call = :about
     and child.project = (select project from execution where id = :execution)
   order by child.id desc
   limit 1`;

const LAST_EVENT = `
  select seq, at, fence, kind, name, body
    from history
   where row_id = (select row_id from execution where id = :id)
   order by seq desc
   limit 1`;

export const WAITING_MENDS: Readonly<Partial<Record<InvariantName, Mend>>> = {
  'settlement-not-told': whileBroken((tx, { execution }, call) => {
    const place = { execution, call: call as CallKey };
    const unit = loadUnit(tx, place);
    if (unit === undefined) return false;
    return tell(tx, execution, settlementMessage(unit, loadAnswered(tx, place)));
  }),
  'child-end-not-told': whileBroken((tx, { execution }, about) => {
    const child = tx.get<{ id: ExecutionId; ended: number }>(LAST_CHILD, { execution, about });
    if (child?.ended !== 1) return false;
    const last = tx.get<HistoryRow>(LAST_EVENT, { id: child.id });
    const event = last === undefined ? undefined : toHistoryEvent(last);
    return tell(tx, execution, childMessage({ id: child.id, call: about }, event));
  }),
  'news-not-heard': whileBroken((tx, { execution, newest }) => {
    const row = loadRow(tx, execution);
    if (row === undefined) return false;
    const { news, readyAt = tx.now } = hearing(toExecution(row), newest?.n ?? 0, tx.now);
    tx.run(HEAR, { execution, news, readyAt });
    tx.ring();
    return true;
  }),
  'child-of-the-ended': whileBroken((tx, { execution }) => {
    const parent = tx.get<{ parent_id: string }>(PARENT, { execution })?.parent_id;
    if (parent !== undefined) addErrand(tx, parent);
    return parent !== undefined;
  }),
};

/** Of one that waits, and is as it was found. */
function whileBroken(act: (tx: Transaction, facts: WaitingFacts, about: string) => boolean): Mend {
  return (tx, { invariant, execution = '', about = '' }) => {
    const facts = waitingFacts(tx, execution);
    const broken = facts === undefined ? [] : judgeWaiting(facts);
    const isAsFound = broken.some(
      (each) => each.invariant === invariant && (each.about ?? '') === about,
    );
    return facts !== undefined && isAsFound && act(tx, facts, about);
  };
}

function tell(tx: Transaction, id: ExecutionId, message: NewMessage | undefined): boolean {
  if (message === undefined) return false;
  const { kind, name = null, body = null } = message;
  return deliver(tx, id, { kind, name, body }) !== undefined;
}
