// The lines of an export: JSON, one thing a line.
//
//   {"holdfast":"export","format":1, …}     the header: what it is of, and what the store had counted
//   {"table":"session","columns":[…]}       then the rows of that table, an array each, bytes as {"b":base64}
//   {"rows":17,"digest":"…"}                so many rows since the table began; of every line until here
//   {"end":true,"rows":1234,"digest":"…"}   nothing is left out
//
// A digest stands after every thousand rows too, so that damage is found near where it is.

import { createHash, type Hash } from 'node:crypto';
import type { Seal } from '../execution/seal.ts';
import type { Cell, MovedRows } from '../store/contract/move-store.ts';
import type { Counters } from '../store/moved-tables.ts';
import { Fault } from '../support/fault.ts';

export const FORMAT = 1;

export interface ExportHeader {
  readonly holdfast: 'export';
  readonly format: number;
  /** Which SQL store it was. */
  readonly kind: string;
  /** Its migrations, by name. */
  readonly schema: readonly string[];
  readonly epoch: number;
  readonly seal: Seal;
  readonly counters: Counters;
}

const ROWS_PER_DIGEST = 1_000;

/** Makes lines of rows, and their digest. */
export class LineWriter {
  readonly #hash: Hash = createHash('sha256');
  #table = '';
  #rows = 0;
  #all = 0;

  get rows(): number {
    return this.#all;
  }

  header(header: ExportHeader): string {
    return this.#line(JSON.stringify(header));
  }

  some({ table, columns, rows }: MovedRows): string {
    let text = table === this.#table ? '' : this.#begin(table, columns);
    for (const row of rows) {
      text += this.#line(JSON.stringify(row.map(toJson)));
      this.#rows += 1;
      this.#all += 1;
      if (this.#rows % ROWS_PER_DIGEST === 0) text += this.#check();
    }
    return text;
  }

  end(): string {
    const last = this.#check();
    return `${last}${this.#line(JSON.stringify({ end: true, rows: this.#all, digest: this.#digest() }))}`;
  }

  #begin(table: string, columns: readonly string[]): string {
    const before = this.#table === '' ? '' : this.#check();
    this.#table = table;
    this.#rows = 0;
    return before + this.#line(JSON.stringify({ table, columns }));
  }

  #check(): string {
    return this.#line(JSON.stringify({ rows: this.#rows, digest: this.#digest() }));
  }

  #digest(): string {
    return this.#hash.copy().digest('hex');
  }

  #line(text: string): string {
    this.#hash.update(text).update('\n');
    return `${text}\n`;
  }
}

function toJson(cell: Cell): unknown {
  return cell instanceof Uint8Array ? { b: Buffer.from(cell).toString('base64') } : cell;
}

function toCell(value: unknown): Cell {
  if (typeof value === 'object' && value !== null && 'b' in value) {
    return Buffer.from(String(value.b), 'base64');
  }
  return value as Cell;
}

type Checked = { readonly rows: number; readonly digest: string; readonly end?: true };

/** Takes lines one by one and says what they are; throws, naming the line, when they cannot be trusted. */
export class LineReader {
  readonly #hash: Hash = createHash('sha256');
  #line = 0;
  #trusted = 0;
  #table: { readonly name: string; readonly columns: readonly string[] } | undefined;
  #rows = 0;
  #all = 0;
  #isOver = false;

  get line(): number {
    return this.#line;
  }

  get rows(): number {
    return this.#all;
  }

  header(text: string): ExportHeader {
    const header = this.#take(text) as Partial<ExportHeader> | undefined;
    if (header?.holdfast !== 'export' || typeof header.format !== 'number') {
      throw new Fault(
        'export-invalid',
        'This is no export of Holdfast: its first line says nothing of one.',
      );
    }
    if (header.format !== FORMAT) throw otherFormat(header.format);
    return header as ExportHeader;
  }

  /** A row, or the beginning of a table; undefined for what only this reader needs. */
  read(text: string): MovedRows | undefined {
    if (this.#isOver) throw this.broken('there is something after the end');
    const before = text.startsWith('[') ? '' : this.#hash.copy().digest('hex');
    const value = this.#take(text);
    if (Array.isArray(value)) return this.#row(value);
    const { table, columns } = value as { table?: string; columns?: readonly string[] };
    if (typeof table === 'string' && Array.isArray(columns)) {
      this.#table = { name: table, columns };
      this.#rows = 0;
      return { table, columns, rows: [] };
    }
    this.#check(value as Checked, before);
    return undefined;
  }

  /** No line is left. */
  finish(): void {
    if (!this.#isOver) throw this.broken('it ends here, in the middle: the file was cut');
  }

  broken(what: string): Fault {
    const near =
      this.#trusted < this.#line - 1 ? ` Up to line ${this.#trusted} it is as it was written.` : '';
    return new Fault(
      'export-damaged',
      `The export is damaged at line ${this.#line}${this.#table === undefined ? '' : `, in the table "${this.#table.name}"`}: ${what}.${near} Nothing was imported. Export again: the old store is sealed and has everything.`,
    );
  }

  #take(text: string): unknown {
    this.#line += 1;
    try {
      const value: unknown = JSON.parse(text);
      if (typeof value !== 'object' || value === null) throw new SyntaxError('no object');
      this.#hash.update(text).update('\n');
      return value;
    } catch (cause) {
      if (this.#line === 1) return undefined;
      throw this.broken(`it is no JSON (${(cause as Error).message})`);
    }
  }

  #row(values: readonly unknown[]): MovedRows {
    if (this.#table === undefined) throw this.broken('a row of no table');
    const { name: table, columns } = this.#table;
    if (values.length !== columns.length) throw this.broken('a row of another length');
    this.#rows += 1;
    this.#all += 1;
    return { table, columns, rows: [values.map(toCell)] };
  }

  #check({ rows, digest, end }: Checked, before: string): void {
    if (digest !== before) throw this.broken('the digest is of something else');
    if (rows !== (end === true ? this.#all : this.#rows)) {
      throw this.broken(`it says ${rows} rows, and there are ${end ? this.#all : this.#rows}`);
    }
    this.#trusted = this.#line;
    this.#isOver = end === true;
  }
}

function otherFormat(format: number): Fault {
  const which = format > FORMAT ? 'a newer' : 'an older';
  return new Fault(
    'export-format',
    `The export was made by ${which} version: its format is ${format}, this version reads ${FORMAT}. Nothing was imported; use the version that made it for both.`,
  );
}
