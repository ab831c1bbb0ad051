import type { ClientBase, QueryConfig } from 'pg';
import { refuseTransact } from '../../../execution/decide/owner.ts';
import { historyEvents } from '../../../execution/decide/record.ts';
import type { HistoryEvent } from '../../../execution/history.ts';
import { assert } from '../../../support/assert.ts';
import { Fault, InvalidInput } from '../../../support/fault.ts';
import { wordsIn } from '../../../support/options.ts';
import type { Transact, Transacted } from '../../contract/execution-store.ts';
import { saveExecution } from '../../sql/changes.ts';
import { type Attempted, type Queries, statement } from '../database.ts';
import { refuseSealed } from '../export/seal.ts';
import { play } from '../gateway.ts';
import { haltIfAhead } from '../recover.ts';
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

// The connection as user code sees it, inside the transaction that appends. The extended protocol
// allows one statement per query. Statements that end the transaction or change the connection for
// others are refused.

interface LentConnection {
  query(text: string | object, values?: readonly unknown[]): Promise<unknown>;
}

/** Statements that end the transaction, or change state of the connection that others rely on. */
const FORBIDDEN: ReadonlySet<string> = new Set(
  wordsIn('begin start commit end abort deallocate discard reset'),
);

/** With this protocol, the server accepts one statement per query. */
const ONE_STATEMENT = { queryMode: 'extended' } as const;

/** A `set` of these ends with the transaction. */
const LOCAL: readonly (string | undefined)[] = ['local', 'constraints', 'transaction'];

/** Offers only `query`, and refuses it after the transaction has ended. */
function lend(client: ClientBase): { readonly connection: LentConnection; end(): void } {
  let isOver = false;
  const query: LentConnection['query'] = async (text, values) => {
    if (isOver) {
      throw new Fault(
        'transaction-over',
        'The transaction of this step is over. Nothing was sent. Await every query inside ctx.transaction.',
      );
    }
    return client.query(singleStatement(text, values));
  };
  return {
    connection: { query },
    end() {
      isOver = true;
    },
  };
}

function singleStatement(query: string | object, values?: readonly unknown[]): QueryConfig {
  const config = typeof query === 'string' ? { text: query } : (query as QueryConfig);
  if (typeof config?.text !== 'string' || 'submit' in config) {
    throw new InvalidInput(
      'query takes the text of a statement and its values, or an object with both. Cursors and streams do not work inside ctx.transaction.',
    );
  }
  const [first = '', second, third] = firstWords(config.text);
  const isPartial = second === 'to' || third === 'to';
  const isForbidden =
    FORBIDDEN.has(first) ||
    (first === 'rollback' && !isPartial) ||
    (first === 'prepare' && second === 'transaction') ||
    (first === 'set' && !LOCAL.includes(second));
  if (isForbidden) {
    throw new InvalidInput(
      `"${first}" does not work inside ctx.transaction: the store commits this step together with its history. Nothing was sent. Use savepoints and "set local".`,
    );
  }
  const own = Array.isArray(values) ? { values: [...values] } : {};
  return { ...config, ...own, ...ONE_STATEMENT };
}

/** Returns the first three words, without the spaces and comments that PostgreSQL ignores. */
function firstWords(text: string): readonly string[] {
  const words: string[] = [];
  let rest = text;
  while (words.length < 3) {
    rest = rest.slice(blankLength(rest));
    const word = /^[a-z_]+/i.exec(rest)?.[0];
    if (word === undefined) break;
    words.push(word.toLowerCase());
    rest = rest.slice(word.length);
  }
  return words;
}

const BLANK = /^(?:[\s;]+|--[^\n]*(?:\n|$))/;

/** Counts spaces, empty statements and comments, which may be nested. */
function blankLength(text: string): number {
  let length = 0;
  for (;;) {
    const rest = text.slice(length);
    const found = rest.startsWith('/*') ? commentLength(rest) : (BLANK.exec(rest)?.[0].length ?? 0);
    if (found === 0) return length;
    length += found;
  }
}

function commentLength(text: string): number {
  let depth = 0;
  for (const { 0: mark, index } of text.matchAll(/\/\*|\*\//g)) {
    depth += mark === '/*' ? 1 : -1;
    if (depth === 0) return index + mark.length;
  }
  return text.length;
}
