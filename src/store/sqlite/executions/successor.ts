// The successor of an execution that has just ended: it goes on under its key and in its place, and
// has in its inbox what nobody acted on.

import { CANCELLED_OUTCOME, endAsCancelled } from '../../../execution/decide/command.ts';
import { decideSuccessor, inheritanceOf } from '../../../execution/decide/submit.ts';
import type { InboxMessage } from '../../../execution/history.ts';
import { assert } from '../../../support/assert.ts';
import type { Finish, Submit } from '../../contract/execution-store.ts';
import {
  type ExecutionRow,
  fromSubmit,
  type InboxRow,
  toExecution,
  toInboxMessage,
} from '../../execution-rows.ts';
import type { WaitingEnd } from '../../sql/changes.ts';
import type { Transaction } from '../transaction.ts';
import { noteLimit } from './gates.ts';
import { loadRow } from './load-execution.ts';
import { insertRow, noteParent } from './submit.ts';

const LET_GO_OF_KEY = `
  update execution
     set key = null,
         intent = null
   where id = :id`;

const LEFT = `
  select n, at, kind, name, body
    from inbox
   where execution_id = :id
     and (n > :newsSeen or n in (select value from json_each(:unread)))
   order by n`;

const PUT = `
  insert into inbox (execution_id, n, at, kind, name, body)
  values (:id, :n, :at, :kind, :name, :body)`;

const COUNT = `
  update execution
     set news = :news
   where id = :id`;

interface Continued extends Pick<Finish, 'newsSeen' | 'unread'> {
  readonly successor: Submit;
}

export interface Followed {
  readonly row: ExecutionRow;
  readonly hasPlace: boolean;
  /** It ends at once. */
  readonly cancelled?: WaitingEnd;
}

/** Undefined when its id is taken: then it is left out. */
export function follow(
  tx: Transaction,
  ended: ExecutionRow,
  { successor, newsSeen = 0, unread = [] }: Continued,
): Followed | undefined {
  const { id } = successor;
  if (loadRow(tx, id) !== undefined) return undefined;
  // Two executions with one key could not be told apart.
  tx.run(LET_GO_OF_KEY, { id: ended.id });
  insert(tx, ended, successor);
  const parameters = { id: ended.id, newsSeen, unread: JSON.stringify(unread) };
  const left = ended.news === 0 ? [] : tx.all<InboxRow>(LEFT, parameters).map(toInboxMessage);
  const { messages, cancel } = inheritanceOf(left);
  for (const message of messages) put(tx, id, message);
  if (messages.length > 0) tx.run(COUNT, { id, news: messages.length });
  const row = loadRow(tx, id);
  assert(row !== undefined, 'X-14: a successor that was inserted is stored');
  const hasPlace = Boolean(row.has_place);
  if (cancel === undefined) return { row, hasPlace };
  const end = endAsCancelled(toExecution(row), { ...cancel, now: tx.now });
  return { row, hasPlace, cancelled: { ...end, outcome: CANCELLED_OUTCOME } };
}

function insert(tx: Transaction, ended: ExecutionRow, successor: Submit): void {
  const { execution } = decideSuccessor(toExecution(ended), successor, tx.now);
  // who takes the place over is no new submit.
  if (!execution.hasPlace) noteLimit(tx, successor);
  const row = {
    ...fromSubmit(successor, tx.now),
    key: execution.key ?? null,
    intent: execution.intent ?? null,
    gated: execution.gated ? 1 : 0,
    has_place: execution.hasPlace ? 1 : 0,
  };
  insertRow(tx, row, successor);
  if (successor.parent !== undefined) noteParent(tx, successor.parent.id);
}

function put(tx: Transaction, id: string, { n, at, kind, name, body }: InboxMessage): void {
  tx.run(PUT, { id, n, at, kind, name: name ?? null, body: body ?? null });
}
