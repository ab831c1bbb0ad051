// One connection to one file: how it is opened, that it is as durable as it says, its prepared
// statements, and what the errors of SQLite mean.

import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { StoreCorrupt, StoreUnavailable } from '../../support/fault.ts';

/** Safe integers, text, bytes, null. node:sqlite has no booleans: 0 and 1. */
export type Parameters = Readonly<Record<string, SQLInputValue>>;

export type Durability = 'full' | 'normal';

/** What `pragma synchronous` answers. */
const SYNCHRONOUS: Readonly<Record<Durability, number>> = { normal: 1, full: 2 };

export class Connection {
  readonly #database: DatabaseSync;
  readonly #statements: Map<string, StatementSync> = new Map();

  constructor(file: string) {
    // Zero: a wait for a lock inside SQLite would stop the event loop, heartbeats included.
    this.#database = new DatabaseSync(file, { timeout: 0, enableForeignKeyConstraints: false });
  }

  /** Sets what the file must be like and reads it back: a pragma that did not take says nothing. */
  configure(durability: Durability): void {
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

  close(): void {
    this.#statements.clear();
    this.#database.close();
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

// Primary result codes of SQLite.
const BUSY = 5;
const READONLY = 8;
const CORRUPT = 11;
const FULL = 13;
const PROTOCOL = 15;
const NOT_A_DATABASE = 26;

/** Another connection has the lock; what was asked for can be asked for again. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code === BUSY || code === PROTOCOL;
}

/** For errors of work that is known not to have been applied. Other errors stay what they are. */
export function toFault(error: unknown): unknown {
  const code = resultCode(error);
  if (code === undefined) return error;
  const message = error instanceof Error ? error.message : String(error);
  const options = { cause: error };
  switch (code) {
    case CORRUPT:
    case NOT_A_DATABASE:
      return new StoreCorrupt(`The SQLite file cannot be read: ${message}.`, options);
    case FULL:
      return new StoreUnavailable(`The disk is full: ${message}. Nothing was written.`, options);
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
