// Inserts the successor of an execution that has just ended. The successor takes over the
// key, the slot and the messages that were not acted on. The ended row is locked, so no further
// messages arrive there.

import { decideSuccessor, inheritanceOf } from '../../execution/decide/submit.ts';
import type { ExecutionRecord } from '../../execution/execution.ts';
import type { InboxMessage } from '../../execution/history.ts';
import type { Instant } from '../../support/clock.ts';
import type { Finish, Submit } from '../contract/execution-store.ts';
import { type InboxRow, toInboxMessage } from '../execution-rows.ts';
import { postMessage } from './changes.ts';
import { all, one, type Script, sql } from './script.ts';

const IS_THERE = sql('select id from hf.execution where id = :id');

// Two executions must not share a key.
const DROP_KEY = sql('update hf.execution set key = null where id = :id');

const LEFT = sql(`
  select i.n, i.at, i.kind, i.name, i.body, i.key
    from hf.inbox as i
   where i.execution_id = :id
     and (i.n > :inboxSeen or i.n = any (:unread::integer[]))
   order by i.n`);

const COUNT = sql('update hf.execution set news = :inboxCount where id = :id');

export interface Continued extends Pick<Finish, 'inboxSeen' | 'unread'> {
  readonly successor: Submit;
  readonly now: Instant;
}

export interface Followed {
  readonly execution: ExecutionRecord;
  /** A cancel among the messages. It ends the successor at once. */
  readonly cancel: InboxMessage | undefined;
}

/**
 * Inserts the submit with the key and the slot that it takes over. Each store has its own function.
 */
export type InsertSuccessor = (execution: ExecutionRecord, submit: Submit) => Script<void>;

/** Returns undefined when the successor's id is taken. The caller then inserts nothing. */
export function* follow(
  ended: ExecutionRecord,
  { successor, now, inboxSeen = 0, unread = [] }: Continued,
  insert: InsertSuccessor,
): Script<Followed | undefined> {
  const { id } = successor;
  if ((yield* one(IS_THERE, { id })) !== undefined) return undefined;
  yield* all(DROP_KEY, { id: ended.id });
  const { execution } = decideSuccessor(ended, successor, now);
  yield* insert(execution, successor);
  const left = { id: ended.id, inboxSeen, unread };
  const rows = ended.inboxCount === 0 ? [] : yield* all<InboxRow>(LEFT, left);
  const { messages, cancel } = inheritanceOf(rows.map(toInboxMessage));
  for (const message of messages) yield* postMessage(id, message);
  if (messages.length > 0) yield* all(COUNT, { id, inboxCount: messages.length });
  return { execution: { ...execution, inboxCount: messages.length }, cancel };
}
