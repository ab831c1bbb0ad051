// The successor of an execution that has just ended: it goes on under its key and in its place, and
// has in its inbox what nobody acted on. The row of the ended one is locked: nothing more arrives there.

import { decideSuccessor, inheritanceOf } from '../../../execution/decide/submit.ts';
import type { ExecutionRecord } from '../../../execution/execution.ts';
import type { InboxMessage } from '../../../execution/history.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Finish, Submit } from '../../contract/execution-store.ts';
import { type InboxRow, toInboxMessage } from '../../execution-rows.ts';
import { type Queries, statement } from '../database.ts';
import { numbers, sparse, texts } from './arrays.ts';
import { insertExecutions } from './insert-executions.ts';
import { lockPlaces, saveLimits } from './places.ts';

const DROP_KEY = statement('update hf.execution e set key = null, intent = null where e.id = $1');

const IS_THERE = statement('select e.id from hf.execution e where e.id = $1');

const LEFT = statement(`
  select i.n, i.at, i.kind, i.name, i.body
    from hf.inbox i
   where i.execution_id = $1
     and (i.n > $2 or i.n = any ($3::integer[]))
   order by i.n`);

const PUT = statement(`
  insert into hf.inbox (execution_id, n, at, kind, name, body)
  select $1, u.nth, u.at, u.kind, u.name, u.body
    from unnest($2::bigint[], $3::text[], $4::text[], $5::text[]) with ordinality as u(at, kind, name, body, nth)`);

const COUNT = statement('update hf.execution e set news = $2 where e.id = $1');

interface Continued extends Pick<Finish, 'newsSeen' | 'unread'> {
  readonly successor: Submit;
  readonly now: Instant;
}

export interface Followed {
  readonly execution: ExecutionRecord;
  /** It ends at once. */
  readonly cancel: InboxMessage | undefined;
}

/** Undefined when its id is taken: then it is left out. */
export async function follow(
  queries: Queries,
  ended: ExecutionRecord,
  continued: Continued,
): Promise<Followed | undefined> {
  const { successor, now } = continued;
  const there = await queries.rows(IS_THERE, [successor.id]);
  if (there.length > 0) return undefined;
  await queries.rows(DROP_KEY, [ended.id]);
  const { execution } = decideSuccessor(ended, successor, now);
  await insert(queries, execution, successor);
  const { messages, cancel } = inheritanceOf(await loadLeft(queries, ended, continued));
  if (messages.length > 0) await putAll(queries, successor.id, messages);
  return { execution: { ...execution, news: messages.length }, cancel };
}

async function insert(
  queries: Queries,
  { hasPlace, gated, key, intent }: ExecutionRecord,
  submit: Submit,
): Promise<void> {
  const { key: _, intent: __, ...rest } = submit;
  const keyed = {
    ...rest,
    ...(key === undefined ? {} : { key }),
    ...(intent === undefined ? {} : { intent }),
  };
  // who takes the place over is no new submit.
  if (!hasPlace) {
    const book = await lockPlaces(queries, [submit]);
    await saveLimits(queries, book, [submit]);
  }
  await insertExecutions(queries, [{ submit: keyed, hasPlace, gated }], true);
}

async function loadLeft(
  queries: Queries,
  { id, news }: ExecutionRecord,
  { newsSeen = 0, unread = [] }: Continued,
): Promise<readonly InboxMessage[]> {
  if (news === 0) return [];
  const rows = await queries.rows<InboxRow & object>(LEFT, [id, newsSeen, numbers(unread)]);
  return rows.map(toInboxMessage);
}

async function putAll(
  queries: Queries,
  id: ExecutionId,
  messages: readonly InboxMessage[],
): Promise<void> {
  await queries.rows(PUT, [
    id,
    numbers(messages.map(({ at }) => at)),
    texts(messages.map(({ kind }) => kind)),
    sparse(messages.map(({ name }) => name)),
    sparse(messages.map(({ body }) => body)),
  ]);
  await queries.rows(COUNT, [id, messages.length]);
}
