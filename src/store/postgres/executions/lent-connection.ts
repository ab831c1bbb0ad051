// What user code sees of the connection, inside the transaction that appends. One statement at a time, which
// the extended protocol sees to, and none that ends the transaction or changes the connection for others.

import type { ClientBase, QueryConfig } from 'pg';
import { Fault, InvalidInput } from '../../../support/fault.ts';

interface LentConnection {
  query(text: string | object, values?: readonly unknown[]): Promise<unknown>;
}

/** Ends the transaction, or what the connection knows and others rely on. */
const FORBIDDEN: ReadonlySet<string> = new Set([
  ...['begin', 'start', 'commit', 'end', 'abort'],
  ...['deallocate', 'discard', 'reset'],
]);

/** The server takes one statement at a time by this protocol. */
const ONE_STATEMENT = { queryMode: 'extended' } as const;

/** `set` of these is over when the transaction is. */
const LOCAL: readonly (string | undefined)[] = ['local', 'constraints', 'transaction'];

/** Queries, and nothing else, and not after the transaction is over. */
export function lend(client: ClientBase): { readonly connection: LentConnection; end(): void } {
  let isOver = false;
  const query: LentConnection['query'] = async (text, values) => {
    if (isOver) {
      throw new Fault(
        'transaction-over',
        'The transaction of this step is over. Nothing was sent.',
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

function singleStatement(asked: string | object, values?: readonly unknown[]): QueryConfig {
  const config = typeof asked === 'string' ? { text: asked } : (asked as QueryConfig);
  if (typeof config?.text !== 'string' || 'submit' in config) {
    throw new InvalidInput(
      'query takes the text of a statement and its values, or an object with both; cursors and streams cannot be used here.',
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
      `"${first}" cannot be used here: transaction and connection belong to the store, which commits this step together with its history. Savepoints and "set local" can.`,
    );
  }
  const own = Array.isArray(values) ? { values: [...values] } : {};
  return { ...config, ...own, ...ONE_STATEMENT };
}

/** The first three, without what PostgreSQL passes over before and between them. */
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

/** Spaces, empty statements and comments, which may be inside each other. */
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
