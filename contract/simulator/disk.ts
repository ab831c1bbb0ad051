// The store's disk: one SQLite database in memory that all processes of a run share, each through a
// connection of its own. A commit can fail in every way that a store may report.

import { Connection, type Parameters, resultCode } from '../../src/store/sqlite/connection.ts';
import { migrate } from '../../src/store/sqlite/migrate.ts';
import { StoreUnavailable } from '../../src/support/fault.ts';

/** Result codes of SQLite. */
const IO_ERROR = 10;
const FULL = 13;
const CANNOT_OPEN = 14;

/** The outcome of the last transaction of a connection. */
export type LastCommit = 'applied' | 'not-applied';

/** The next commit before or after which a process dies. */
export interface CrashPoint {
  left: number;
  readonly isAfter: boolean;
  readonly crash: () => void;
}

/** The way in which the next commits fail. */
export interface DiskFaults {
  /** The server is being restarted: nothing begins. */
  isDown: boolean;
  isFull: boolean;
  /** Decides for each commit whether its outcome stays unknown, and whether it is applied. */
  loseCommit: () => LastCommit | undefined;
}

export class FaultyConnection extends Connection {
  lastCommit: LastCommit = 'not-applied';
  crashAt: CrashPoint | undefined;
  readonly #faults: DiskFaults;

  constructor(file: string, faults: DiskFaults) {
    super(file);
    this.#faults = faults;
  }

  override run(sql: string, parameters?: Parameters): number {
    if (sql === 'begin immediate' || sql === 'begin') {
      this.lastCommit = 'not-applied';
      if (this.#faults.isDown) throw new SimulatedError(CANNOT_OPEN, 'the simulated store is down');
    }
    return sql === 'commit' ? this.#commit() : super.run(sql, parameters);
  }

  #commit(): number {
    const { crashAt } = this;
    if (crashAt !== undefined) crashAt.left -= 1;
    const isCrash = crashAt?.left === 0;
    if (isCrash) crashAt.crash();
    if (isCrash && !crashAt.isAfter) throw new SimulatedError(IO_ERROR, 'the process has died');
    if (this.#faults.isFull) throw new SimulatedError(FULL, 'the simulated disk is full');
    const lost = this.#faults.loseCommit();
    if (lost === 'not-applied') super.run('rollback');
    else super.run('commit');
    this.lastCommit = lost ?? 'applied';
    if (lost !== undefined)
      throw new SimulatedError(IO_ERROR, 'the simulated disk failed in a commit');
    return 0;
  }
}

/** An error of SQLite that the simulator made up. */
class SimulatedError extends Error {
  readonly errcode: number;

  constructor(errcode: number, message: string) {
    super(message);
    this.errcode = errcode;
  }
}

/** SQLite itself refused a statement, such as by a constraint. No fault of the simulator does that. */
export function isOfSqlite(fault: unknown): boolean {
  return (
    fault instanceof StoreUnavailable &&
    resultCode(fault.cause) !== undefined &&
    !(fault.cause instanceof SimulatedError)
  );
}

type Row = Readonly<Record<string, string | number | null | Uint8Array>>;

/** The content of every table. */
export type DiskImage = readonly { readonly table: string; readonly rows: readonly Row[] }[];

/** Opened once per thread and emptied before each run: opening takes longer than a run's first second. */
export class SimulatedDisk {
  readonly faults: DiskFaults = { isDown: false, isFull: false, loseCommit: () => undefined };
  readonly #file: string;
  readonly #all: FaultyConnection[] = [];
  readonly #main: Connection;
  readonly #empty: DiskImage;
  #reliable: Connection | undefined;
  #used = 0;

  constructor(name: string) {
    this.#file = `file:${name}?mode=memory&cache=shared`;
    this.#main = new Connection(this.#file);
    migrate(this.#main, this.#file);
    this.#empty = this.image();
  }

  /** Empties the disk for a new run. */
  reset(): void {
    this.#used = 0;
    this.heal();
    for (const each of this.#all) each.crashAt = undefined;
    this.restore(this.#empty);
  }

  heal(): void {
    this.faults.isDown = false;
    this.faults.isFull = false;
    this.faults.loseCommit = () => undefined;
  }

  connect(): FaultyConnection {
    const known = this.#all[this.#used];
    this.#used += 1;
    if (known !== undefined) return known;
    const connection = new FaultyConnection(this.#file, this.faults);
    this.#all.push(connection);
    return connection;
  }

  /** A connection that no fault concerns. */
  connectReliably(): Connection {
    this.#reliable ??= new Connection(this.#file);
    return this.#reliable;
  }

  /** Reads the content as a checker sees it, at once. */
  rows<Found>(sql: string, parameters: Parameters = {}): readonly Found[] {
    return this.#main.all<Found>(sql, parameters);
  }

  /** A backup. */
  image(): DiskImage {
    return this.#tables().map(({ name: table, wr }) => ({
      table,
      // Rows refer to each other by rowid.
      rows: this.#main.all<Row>(`select ${wr === 1 ? '' : 'rowid, '}* from "${table}"`),
    }));
  }

  /** Replaces the content. Connections forget what they remember of it. */
  restore(image: DiskImage): void {
    this.#main.execute('begin immediate');
    for (const { table } of image) this.#main.execute(`delete from "${table}"`);
    for (const { table, rows } of image) {
      for (const row of rows) {
        const names = Object.keys(row);
        const columns = names.map((name) => `"${name}"`).join(', ');
        const values = names.map((name) => `:${name}`).join(', ');
        this.#main.run(`insert into "${table}" (${columns}) values (${values})`, row);
      }
    }
    this.#main.execute('commit');
    for (const each of this.#all) each.undo();
    this.#reliable?.undo();
  }

  /** `wr`: the table has no rowid. */
  #tables(): readonly { readonly name: string; readonly wr: number }[] {
    return this.#main.all(
      `select name, wr from pragma_table_list
        where schema = 'main' and type = 'table' and name not in ('sqlite_schema', 'migration')`,
    );
  }
}
