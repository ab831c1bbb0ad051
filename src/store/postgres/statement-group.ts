// Statements that the driver sends together, with one Sync behind the last. The server runs them in
// one transaction and commits it at the Sync. Each statement sees the writes of those before it.
// The first results arrive before the commit, so the group resolves with ReadyForQuery only.

import type { Connection, QueryResultRow, Submittable } from 'pg';

/** A statement as the driver takes it. */
export interface BoundText {
  readonly text: string;
  readonly values: readonly unknown[];
  /** Set if the connection keeps it prepared. */
  readonly name?: string;
}

/** The parts of a connection of `pg` that its types lack. */
interface Wire {
  readonly parsedStatements: Record<string, string>;
  readonly stream: { cork?(): void; uncork?(): void };
  parse(statement: { readonly name?: string | undefined; readonly text: string }): void;
  bind(values: {
    readonly statement?: string | undefined;
    readonly values: readonly unknown[];
    readonly valueMapper: (value: unknown) => unknown;
  }): void;
  describe(portal: { readonly type: 'P'; readonly name: string }): void;
  execute(portal: { readonly portal: string; readonly rows: number }): void;
  sync(): void;
}

interface Field {
  readonly name: string;
  readonly dataTypeID: number;
}

type Parse = (value: string) => unknown;

interface Types {
  getTypeParser(oid: number, format?: 'text'): Parse;
}

/** A query for `pg`. If it fails, drop the connection: one may be prepared that was not described. */
export class StatementGroup implements Submittable {
  /** The rows of each statement. */
  readonly results: QueryResultRow[][] = [];
  /** The driver sets it. */
  callback: ((error: unknown, results?: StatementGroup['results']) => void) | undefined;
  readonly #all: readonly BoundText[];
  readonly #types: Types;
  #wire: Wire | undefined;
  #columns: readonly { readonly name: string; readonly parse: Parse }[] = [];

  constructor(all: readonly BoundText[], types: Types) {
    this.#all = all;
    this.#types = types;
  }

  submit(connection: Connection): void {
    const wire = connection as unknown as Wire;
    this.#wire = wire;
    wire.stream.cork?.();
    try {
      for (const { name, text, values } of this.#all) {
        if (name === undefined || wire.parsedStatements[name] === undefined) {
          wire.parse({ name, text });
        }
        wire.bind({ statement: name, values, valueMapper: toWire });
        wire.describe({ type: 'P', name: '' });
        wire.execute({ portal: '', rows: 0 });
      }
      wire.sync();
    } finally {
      wire.stream.uncork?.();
    }
  }

  handleRowDescription({ fields }: { readonly fields: readonly Field[] }): void {
    const { name, text = '' } = this.#all[this.results.length] ?? {};
    if (name !== undefined && this.#wire !== undefined) this.#wire.parsedStatements[name] = text;
    this.#columns = fields.map(({ name, dataTypeID }) => ({
      name,
      parse: this.#types.getTypeParser(dataTypeID, 'text'),
    }));
    this.results.push([]);
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const row: QueryResultRow = {};
    for (const [nth, { name, parse }] of this.#columns.entries()) {
      const value = fields[nth] ?? null;
      row[name] = value === null ? null : parse(value);
    }
    this.results.at(-1)?.push(row);
  }

  handleCommandComplete(): void {
    // The commit is still to come.
  }

  handleEmptyQuery(): void {
    // No statement of the store is empty.
  }

  handlePortalSuspended(): void {
    // Each execution returns all rows.
  }

  handleReadyForQuery(): void {
    this.callback?.(null, this.results);
  }

  handleError(error: unknown): void {
    this.callback?.(error);
  }
}

function toWire(value: unknown): unknown {
  return value === null || value === undefined || Buffer.isBuffer(value) ? value : String(value);
}
