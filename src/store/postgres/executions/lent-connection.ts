// The connection as user code sees it, inside the transaction that appends. The extended protocol
// allows one statement per query. Statements that end the transaction or change the connection for
// others are refused.

import type { ClientBase, QueryConfig } from 'pg';
import { Fault, InvalidInput } from '../../../support/fault.ts';

interface LentConnection {
  query(text: string | object, values?: readonly unknown[]): Promise<unknown>;
}

/** Statements that end the transaction, or change state of the connection that others rely on. */
const FORBIDDEN: ReadonlySet<string> = new Set([
  ...['begin', 'start', 'commit', 'end', 'abort'],
  ...['deallocate', 'discard', 'reset'],
]);

/** With this protocol, the server accepts one statement per query. */
const ONE_STATEMENT = { queryMode: 'extended' } as const;

/** A `set` of these ends with the transaction. */
const LOCAL: readonly (string | undefined)[] = ['local', 'constraints', 'transaction'];

/** Offers only `query`, and refuses it after the transaction has ended. */
export function lend(client: ClientBase): { readonly connection: LentConnection; end(): void } {
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
