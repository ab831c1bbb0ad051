// One connection to a file or to memory. It configures and verifies durability, caches prepared
// statements, and maps SQLite's errors to faults.

import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { assert } from '../../support/assert.ts';
import { StoreCorrupt, StoreSealed, StoreUnavailable } from '../../support/fault.ts';

/** Safe integers, text, bytes and null. node:sqlite has no booleans, so pass 0 and 1. */
export type Parameters = Readonly<Record<string, SQLInputValue>>;

/** A prepared statement with positional parameters, whose rows are arrays. */
export interface ArrayStatement<Row extends readonly unknown[]> {
  get(...values: SQLInputValue[]): Row | undefined;
  all(...values: SQLInputValue[]): readonly Row[];
  iterate(...values: SQLInputValue[]): Iterable<Row>;
}

export type Durability = 'full' | 'normal';

/** The values that `pragma synchronous` returns. */
const SYNCHRONOUS: Readonly<Record<Durability, number>> = { normal: 1, full: 2 };

/** The row that the last statement with `note_row(row_id, news, concerns)` found. */
export interface FoundRow {
  rowId: number;
  inboxCount: number;
  concerns: number;
}

/** The cached state of a running execution: its row id and the last event that this process saw. */
export interface KnownTail {
  readonly rowId: number;
  /** An event with this seq is stored for certain. */
  seq: number;
  /** The last known inbox count. Other processes may have added messages. */
  readonly inboxCount: number;
}

/**
 * For running executions of this process. Dropping all entries costs each execution one read of its
 * history.
 */
const TAILS_MAX = 100_000;

export class Connection {
  /**
   * Valid after a statement that changed a row. `returning` would add half the cost of the
   * statement.
   */
  readonly found: FoundRow = { rowId: 0, inboxCount: 0, concerns: 0 };
  /**
   * Entries come from committed rows or from the current transaction. A stored event is never
   * removed, except by a rollback, and `undo` clears the map then.
   */
  readonly #tails: Map<string, KnownTail> = new Map();
  readonly #database: DatabaseSync;
  readonly #statements: Map<string, StatementSync> = new Map();
  readonly #arrays: Map<string, StatementSync> = new Map();

  /** Opens a file, or wraps a connection of the caller, which lacks the verbs of owners. */
  constructor(given: string | DatabaseSync) {
    if (typeof given !== 'string') {
      this.#database = given;
      return;
    }
    // A timeout would wait for locks inside SQLite and block the event loop, heartbeats included.
    this.#database = new DatabaseSync(given, { timeout: 0, enableForeignKeyConstraints: false });
    const { found } = this;
    this.#database.function('note_row', (rowId, inboxCount, concerns) => {
      found.rowId = rowId as number;
      found.inboxCount = inboxCount as number;
      found.concerns = concerns as number;
      return 1;
    });
  }

  /** The absolute path of the file; empty in memory. */
  get file(): string {
    const all = this.all<{ name: string; file: string }>('pragma database_list');
    return all.find(({ name }) => name === 'main')?.file ?? '';
  }

  /** The whole database; undefined if this version of Node.js cannot serialize it. */
  image(): Uint8Array | undefined {
    return 'serialize' in this.#database ? this.#database.serialize() : undefined;
  }

  /** Replaces the database by an image. Returns false if this version of Node.js cannot do it. */
  load(image: Uint8Array): boolean {
    if (!('deserialize' in this.#database)) return false;
    this.#database.deserialize(image);
    return true;
  }

  /**
   * Sets the file's properties and reads them back, because a pragma that had no effect reports
   * nothing.
   */
  configure(durability: Durability): void {
    // This affects new files only. It is twice the default, because the rows of one flush are
    // stored together.
    this.execute('pragma page_size = 8192');
    const mode = this.get<{ journal_mode: string }>('pragma journal_mode = wal')?.journal_mode;
    if (mode !== 'wal') {
      throw new StoreUnavailable(
        `SQLite could not switch the file to WAL (it is "${mode}"). Nothing was opened. Use a file on a local disk.`,
      );
    }
    this.execute(`pragma synchronous = ${durability}`);
    // On macOS, fsync leaves data in the drive's cache unless this is on. Elsewhere it has no
    // effect.
    this.execute('pragma fullfsync = on');
    const level = this.synchronous();
    if (level !== SYNCHRONOUS[durability]) {
      throw new StoreUnavailable(
        `SQLite did not accept synchronous=${durability} (it is ${level}), so writes would not be durable. Nothing was opened.`,
      );
    }
  }

  synchronous(): number | undefined {
    return this.get<{ synchronous: number }>('pragma synchronous')?.synchronous;
  }

  get isInTransaction(): boolean {
    return this.#database.isTransaction;
  }

  /** Rolls back to the savepoint, or the whole transaction. SQLite may already have done so. */
  undo(savepoint?: string): void {
    this.#tails.clear();
    if (!this.isInTransaction) return;
    if (savepoint === undefined) {
      this.run('rollback');
    } else {
      this.run(`rollback to ${savepoint}`);
      this.run(`release ${savepoint}`);
    }
  }

  tailOf(id: string): KnownTail | undefined {
    return this.#tails.get(id);
  }

  keepTail(id: string, tail: KnownTail): void {
    if (this.#tails.size >= TAILS_MAX) this.#tails.clear();
    this.#tails.set(id, tail);
  }

  dropTail(id: string): void {
    this.#tails.delete(id);
  }

  execute(sql: string): void {
    this.#database.exec(sql);
  }

  /** Returns the number of changed rows. */
  run(sql: string, parameters: Parameters = {}): number {
    return Number(this.#prepare(sql).run(parameters).changes);
  }

  /**
   * `Row` must match the columns that the SQL selects. `lease-rows.ts` validates the important
   * ones.
   */
  get<Row>(sql: string, parameters: Parameters = {}): Row | undefined {
    return this.#prepare(sql).get(parameters) as Row | undefined;
  }

  all<Row>(sql: string, parameters: Parameters = {}): readonly Row[] {
    return this.#prepare(sql).all(parameters) as Row[];
  }

  /**
   * For statements that run thousands of times a second. Their parameters are positional (see
   * `positional`), because binding by name costs as much as an insert.
   */
  statement(sql: string): StatementSync {
    return this.#statements.get(sql) ?? this.#prepare(sql);
  }

  /** Like `statement`, with rows as arrays, which takes half the time. */
  arrays<Row extends readonly unknown[]>(sql: string): ArrayStatement<Row> {
    const known = this.#arrays.get(sql) ?? this.#prepareArrays(sql);
    // Node's types do not know `setReturnArrays`.
    return known as unknown as ArrayStatement<Row>;
  }

  /** Not cached, because the user's own SQL may contain any number of statements. */
  prepareOnce(sql: string): StatementSync {
    return this.#database.prepare(sql);
  }

  close(): void {
    this.#statements.clear();
    this.#arrays.clear();
    this.#database.close();
  }

  #prepareArrays(sql: string): StatementSync {
    const statement = this.#database.prepare(sql);
    statement.setReturnArrays(true);
    statement.setReadBigInts(false);
    this.#arrays.set(sql, statement);
    return statement;
  }

  #prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(sql);
    // One set of parameters can then serve a statement and its follow-up.
    statement.setAllowUnknownNamedParameters(true);
    // A connection of the caller may have other defaults.
    statement.setAllowBareNamedParameters(true);
    statement.setReadBigInts(false);
    statement.setReturnArrays(false);
    this.#statements.set(sql, statement);
    return statement;
  }
}

const PARAMETER = /:([a-zA-Z]\w*)/g;

/**
 * Converts named parameters to positional ones, in the order of `names`. If each name occurs once
 * and in that order, they get no numbers, because SQLite needs time to look numbers up.
 */
export function positional(names: string, sql: string): string {
  const order = names.split(' ');
  const used = [...sql.matchAll(PARAMETER)].map(([, name = '']) => name);
  for (const name of used) assert(order.includes(name), `:${name} is not one of "${names}"`);
  const isInOrder = used.join(' ') === names;
  return sql.replaceAll(PARAMETER, (_, name: string) =>
    isInOrder ? '?' : `?${order.indexOf(name) + 1}`,
  );
}

// Primary result codes of SQLite.
const BUSY = 5;
const READONLY = 8;
const CORRUPT = 11;
const FULL = 13;
const PROTOCOL = 15;
export const CONSTRAINT = 19;
const NOT_A_DATABASE = 26;

/** Another connection holds the lock. The caller can try again. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code === BUSY || code === PROTOCOL;
}

export function isFull(error: unknown): boolean {
  return resultCode(error) === FULL;
}

/** A table constraint or a trigger refused the write. */
export function isConflict(error: unknown): boolean {
  return resultCode(error) === CONSTRAINT;
}

/** The first words of the message with which the triggers of a seal refuse writes. */
const SEALED = 'This store is sealed';

/**
 * Maps errors of operations that were certainly not applied. Other errors pass through unchanged.
 */
export function toFault(error: unknown): unknown {
  const code = resultCode(error);
  if (code === undefined) return error;
  const message = error instanceof Error ? error.message : String(error);
  const options = { cause: error };
  if (code === CONSTRAINT && message.startsWith(SEALED)) return new StoreSealed(message, options);
  switch (code) {
    case CORRUPT:
    case NOT_A_DATABASE:
      return new StoreCorrupt(
        `The SQLite file is damaged: ${message}. Restore it from a backup, then run holdfast raise-epoch.`,
        options,
      );
    case FULL:
      return new StoreUnavailable(
        `The disk of the SQLite file is full: ${message}. Nothing was written. Free some space, then try again.`,
        options,
      );
    case READONLY:
      return new StoreUnavailable(
        `The SQLite file cannot be written: ${message}. Nothing was written. Check the permissions of the file and its folder.`,
        options,
      );
    default:
      return new StoreUnavailable(`SQLite refused: ${message}. Nothing was written.`, options);
  }
}

/** Drops the upper bits, which only refine the code. */
export function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode & 0xff : undefined;
}
