// One connection to one file, or to memory: how it is opened, that it is as durable as it says, its prepared
// statements, and what the errors of SQLite mean.

import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { assert } from '../../support/assert.ts';
import { StoreCorrupt, StoreSealed, StoreUnavailable } from '../../support/fault.ts';

/** Safe integers, text, bytes, null. node:sqlite has no booleans: 0 and 1. */
export type Parameters = Readonly<Record<string, SQLInputValue>>;

/** A prepared statement whose rows are arrays; parameters by position. */
export interface ArrayStatement<Row extends readonly unknown[]> {
  get(...values: SQLInputValue[]): Row | undefined;
  all(...values: SQLInputValue[]): readonly Row[];
  iterate(...values: SQLInputValue[]): Iterable<Row>;
}

export type Durability = 'full' | 'normal';

/** What `pragma synchronous` answers. */
const SYNCHRONOUS: Readonly<Record<Durability, number>> = { normal: 1, full: 2 };

/** What the last statement that calls `tell(row_id, news, concerns)` said of the row it found. */
export interface ToldRow {
  rowId: number;
  news: number;
  concerns: number;
}

/** What this process knows of an execution that runs: the key of its row, and the last event it has seen. */
export interface KnownTail {
  readonly rowId: number;
  /** Is stored, for certain. */
  seq: number;
  /** Was its `news`; others may have added to it. */
  readonly news: number;
}

/** Of executions that run here; forgetting them all costs each a look into history. */
const TAILS_MAX = 100_000;

export class Connection {
  /** Valid after a statement that changed a row: `returning` would cost half as much as the statement. */
  readonly told: ToldRow = { rowId: 0, news: 0, concerns: 0 };
  /**
   * From what was committed, or written in the transaction under way: an event that is stored is never
   * taken back, unless the transaction is, which `undo` sees to.
   */
  readonly #tails: Map<string, KnownTail> = new Map();
  readonly #database: DatabaseSync;
  readonly #statements: Map<string, StatementSync> = new Map();
  readonly #arrays: Map<string, StatementSync> = new Map();

  constructor(file: string) {
    // Zero: a wait for a lock inside SQLite would stop the event loop, heartbeats included.
    this.#database = new DatabaseSync(file, { timeout: 0, enableForeignKeyConstraints: false });
    const { told } = this;
    this.#database.function('tell', (rowId, news, concerns) => {
      told.rowId = rowId as number;
      told.news = news as number;
      told.concerns = concerns as number;
      return 1;
    });
  }

  /** Sets what the file must be like and reads it back: a pragma that did not take says nothing. */
  configure(durability: Durability): void {
    // Only for a file that is made now. Twice the default: what a flush writes lies together.
    this.execute('pragma page_size = 8192');
    const mode = this.get<{ journal_mode: string }>('pragma journal_mode = wal')?.journal_mode;
    if (mode !== 'wal') {
      throw new StoreUnavailable(
        `SQLite could not switch the file to WAL (it is "${mode}"). Use a file on a local disk.`,
      );
    }
    this.execute(`pragma synchronous = ${durability}`);
    // On macOS fsync leaves data in the drive's cache unless this is on; elsewhere it does nothing.
    this.execute('pragma fullfsync = on');
    const level = this.synchronous();
    if (level !== SYNCHRONOUS[durability]) {
      throw new StoreUnavailable(
        `SQLite did not take synchronous=${durability} (it is ${level}). Nothing would be as durable as promised.`,
      );
    }
  }

  synchronous(): number | undefined {
    return this.get<{ synchronous: number }>('pragma synchronous')?.synchronous;
  }

  get isInTransaction(): boolean {
    return this.#database.isTransaction;
  }

  /** Rolls back to the savepoint, or altogether. SQLite may have done so by itself. */
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

  /** How many rows were changed. */
  run(sql: string, parameters: Parameters = {}): number {
    return Number(this.#prepare(sql).run(parameters).changes);
  }

  /** The row type is what the caller's SQL selects; `lease-rows.ts` checks what matters. */
  get<Row>(sql: string, parameters: Parameters = {}): Row | undefined {
    return this.#prepare(sql).get(parameters) as Row | undefined;
  }

  all<Row>(sql: string, parameters: Parameters = {}): readonly Row[] {
    return this.#prepare(sql).all(parameters) as Row[];
  }

  /**
   * For statements that run thousands of times a second: parameters by position (see `positional`),
   * since binding them by name costs as much as an insert.
   */
  statement(sql: string): StatementSync {
    return this.#statements.get(sql) ?? this.#prepare(sql);
  }

  /** As `statement`, with rows as arrays, which are made in half the time. */
  arrays<Row extends readonly unknown[]>(sql: string): ArrayStatement<Row> {
    const known = this.#arrays.get(sql) ?? this.#prepareArrays(sql);
    // The types of Node do not know `setReturnArrays`.
    return known as unknown as ArrayStatement<Row>;
  }

  /** Not kept: for SQL that is not ours, of which there may be any number. */
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
    this.#arrays.set(sql, statement);
    return statement;
  }

  #prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(sql);
    // So that one set of parameters can serve a statement and the one that follows from it.
    statement.setAllowUnknownNamedParameters(true);
    this.#statements.set(sql, statement);
    return statement;
  }
}

const PARAMETER = /:([a-zA-Z]\w*)/g;

/**
 * SQL with named parameters as SQL whose parameters are bound by position, in the order of `names`. Where
 * the names stand in that order, each once, they get no number: looking numbers up takes time, too.
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

/** Another connection has the lock; what was asked for can be asked for again. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code === BUSY || code === PROTOCOL;
}

export function isFull(error: unknown): boolean {
  return resultCode(error) === FULL;
}

/** What a statement was to write is not allowed by its table, or by a trigger. */
export function isConflict(error: unknown): boolean {
  return resultCode(error) === CONSTRAINT;
}

/** How the sentence begins with which the triggers of a seal refuse. */
const SEALED = 'This store is sealed';

/** For errors of work that is known not to have been applied. Other errors stay what they are. */
export function toFault(error: unknown): unknown {
  const code = resultCode(error);
  if (code === undefined) return error;
  const message = error instanceof Error ? error.message : String(error);
  const options = { cause: error };
  if (code === CONSTRAINT && message.startsWith(SEALED)) return new StoreSealed(message, options);
  switch (code) {
    case CORRUPT:
    case NOT_A_DATABASE:
      return new StoreCorrupt(`The SQLite file cannot be read: ${message}.`, options);
    case FULL:
      return new StoreUnavailable(
        `The disk of the SQLite file is full: ${message}. Nothing was written. Free some space, then try again.`,
        options,
      );
    case READONLY:
      return new StoreUnavailable(
        `The SQLite file cannot be written: ${message}. Check its permissions, and those of its folder.`,
        options,
      );
    default:
      return new StoreUnavailable(`SQLite refused: ${message}. Nothing was written.`, options);
  }
}

/** Without the upper bits, which only say more about the same. */
export function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode & 0xff : undefined;
}
