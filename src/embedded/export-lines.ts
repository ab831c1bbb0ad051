// The lines of an export: JSON, one item per line.
//
//   {"holdfast":"export","format":1, …}     the header: the exported store, and its counters
//   {"table":"session","columns":[…]}       then that table's rows, one array each; bytes are {"b":base64}
//   {"rows":17,"digest":"…"}                the table's rows so far, and the digest of all lines so far
//   {"end":true,"rows":1234,"digest":"…"}   the export is complete
//
// A digest also follows every thousand rows, so that the import finds damage near its place.

import { createHash, type Hash } from 'node:crypto';
import type { Seal } from '../features/export/model.ts';
import type { Cell, ExportedRows } from '../features/export/port.ts';
import { type Counters, EXPORTED_TABLES } from '../features/export/rows.ts';
import { COUNTERS_PER_EPOCH, epochOf, isIssuable } from '../lease/fence.ts';
import { formatInstant, systemClock, toInstant } from '../support/clock.ts';
import { Fault } from '../support/fault.ts';
import { shown } from '../support/options.ts';

const ROWS_PER_DIGEST = 1_000;

/** Turns rows into lines, and computes their digest. */
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

  some({ table, columns, rows }: ExportedRows): string {
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

/** Undefined for values that no store keeps. */
function toCell(value: unknown): Cell | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  if (typeof value !== 'object' || !('b' in value) || typeof value.b !== 'string') return undefined;
  return Object.keys(value).length === 1 ? Buffer.from(value.b, 'base64') : undefined;
}

/** The store's counters must not be below the values in its rows (T-3). */
const COUNTED: readonly {
  readonly table: string;
  readonly column: string;
  readonly counter: 'fence' | 'eventSeq';
}[] = [
  { table: 'lease', column: 'fence', counter: 'fence' },
  { table: 'execution', column: 'fence', counter: 'fence' },
  { table: 'event', column: 'seq', counter: 'eventSeq' },
];

interface Section {
  readonly name: string;
  readonly columns: readonly string[];
  /** A column with a limit: its index, and the counter that it may not exceed. */
  readonly counted?: { readonly at: number; readonly counter: 'fence' | 'eventSeq' };
}

type Checked = { readonly rows: number; readonly digest: string; readonly end?: true };

/**
 * Takes lines one by one and returns their rows. Throws, with the line number, if they cannot be
 * trusted.
 */
export class LineReader {
  readonly #hash: Hash = createHash('sha256');
  #line = 0;
  #trusted = 0;
  readonly #seen: Set<string> = new Set();
  #header: ExportHeader | undefined;
  #table: Section | undefined;
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
    this.#header = checkedHeader(this.#take(text));
    return this.#header;
  }

  /** A row, or the beginning of a table. Undefined for lines that only this reader needs. */
  read(text: string): ExportedRows | undefined {
    if (this.#isOver) throw this.broken('there are lines after the end');
    const before = text.startsWith('[') ? '' : this.#hash.copy().digest('hex');
    const value = this.#take(text);
    if (Array.isArray(value)) return this.#row(value);
    const { table, columns } = value as { table?: unknown; columns?: unknown };
    if (typeof table === 'string') {
      this.#begin(table, columns);
      return { table, columns: columns as readonly string[], rows: [] };
    }
    this.#check(value as Checked, before);
    return undefined;
  }

  /** Call this when no line is left. */
  finish(): void {
    if (!this.#isOver) throw this.broken('the file ends here, in the middle: it was cut');
    const missing = EXPORTED_TABLES.find(({ name, since }) => {
      const isExpected = since === undefined || this.#header?.schema.includes(since) === true;
      return isExpected && !this.#seen.has(name);
    });
    if (missing !== undefined) throw this.broken(`the table "${missing.name}" is missing`);
  }

  broken(what: string): Fault {
    const near =
      this.#trusted < this.#line - 1 ? ` The lines up to ${this.#trusted} are intact.` : '';
    return new Fault(
      'export-damaged',
      `The export is damaged at line ${this.#line}${this.#table === undefined ? '' : `, in the table "${this.#table.name}"`}: ${what}.${near} Nothing was imported. Export again: the sealed store still has everything.`,
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
      throw this.broken(`the line is not valid JSON (${(cause as Error).message})`);
    }
  }

  #begin(name: string, columns: unknown): void {
    this.#table = { name, columns: [] };
    const isList = Array.isArray(columns) && columns.length > 0;
    if (!isList || !columns.every((each) => typeof each === 'string')) {
      throw this.broken('its columns are not a list of names');
    }
    if (new Set(columns).size < columns.length) throw this.broken('one of its columns comes twice');
    const found = COUNTED.find(({ table, column }) => table === name && columns.includes(column));
    const counted =
      found === undefined
        ? {}
        : { counted: { at: columns.indexOf(found.column), counter: found.counter } };
    this.#table = { name, columns, ...counted };
    this.#seen.add(name);
    this.#rows = 0;
  }

  #row(values: readonly unknown[]): ExportedRows {
    if (this.#table === undefined) throw this.broken('a row without a table');
    const { name: table, columns } = this.#table;
    if (values.length !== columns.length) throw this.broken('a row of another length');
    const row = values.map((value, at) => {
      const cell = toCell(value);
      if (cell !== undefined) return cell;
      throw this.broken(`"${columns[at]}" is ${shown(value)}, which a store cannot hold`);
    });
    this.#checkCounted(this.#table, row);
    this.#rows += 1;
    this.#all += 1;
    return { table, columns, rows: [row] };
  }

  #checkCounted({ counted, columns }: Section, row: readonly Cell[]): void {
    const value = counted === undefined ? null : (row[counted.at] ?? null);
    if (counted === undefined || value === null) return;
    const max = this.#header?.counters[counted.counter] ?? 0;
    if (Number.isSafeInteger(value) && (value as number) <= max) return;
    throw this.broken(
      `"${columns[counted.at]}" is ${shown(value)}, but the header has the counter ${max}`,
    );
  }

  #check({ rows, digest, end }: Checked, before: string): void {
    if (digest !== before) throw this.broken('the digest does not match');
    if (rows !== (end === true ? this.#all : this.#rows)) {
      throw this.broken(`it announces ${rows} rows, but there are ${end ? this.#all : this.#rows}`);
    }
    this.#trusted = this.#line;
    this.#isOver = end === true;
  }
}

// Checks the first line of an export before anything is opened, because the importing store counts
// on from its values.

export const FORMAT = 1;

interface ExportHeader {
  readonly holdfast: 'export';
  readonly format: number;
  /** The kind of the exported SQL store. */
  readonly kind: string;
  /** The names of its migrations. */
  readonly schema: readonly string[];
  readonly epoch: number;
  readonly seal: Seal;
  readonly counters: Counters;
}

const DAY_MS = 86_400_000;

/**
 * Further ahead than any clock that is merely wrong. With such a time, no timer would ever be due.
 */
const AHEAD_MS_MAX = 366 * DAY_MS;

/** Leaves room for as many events again. */
const EVENT_SEQ_MAX = 2 ** 52;

type Check = (value: unknown) => string | undefined;

const text: Check = (value) =>
  typeof value === 'string' && value !== '' ? undefined : 'must be text';

const oneOf =
  (...names: readonly string[]): Check =>
  (value) =>
    names.includes(value as string) ? undefined : `must be one of ${names.join(', ')}`;

const texts: Check = (value) =>
  Array.isArray(value) && value.every((each) => typeof each === 'string')
    ? undefined
    : 'must be a list of texts';

const upTo =
  (max: number): Check =>
  (value) =>
    Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= max
      ? undefined
      : `must be a whole number from 0 to ${max}`;

/** The first epoch is the lowest ever issued, and no store can issue in the last one (T-3). */
const fence: Check = (value) =>
  Number.isSafeInteger(value) &&
  (value as number) >= COUNTERS_PER_EPOCH &&
  isIssuable(value as number)
    ? undefined
    : 'must be a fence that a store can issue';

const presented: Check = (value) => (value === null ? undefined : fence(value));

const time: Check = (value) => {
  const wrong = upTo(8.64e15)(value);
  if (wrong !== undefined) return `${wrong}, in milliseconds`;
  const max = systemClock.wallMs() + AHEAD_MS_MAX;
  return (value as number) <= max
    ? undefined
    : `must be at most 366 days ahead of the clock of this machine; is ${formatInstant(toInstant(value as number))}`;
};

const SEAL: Readonly<Record<string, Check>> = {
  id: text,
  actor: text,
  reason: text,
  to: text,
  at: time,
  heldUntil: time,
};

const COUNTERS: Readonly<Record<string, Check>> = {
  fence,
  halted: presented,
  clockAt: time,
  eventSeq: upTo(EVENT_SEQ_MAX),
  eventsDeleted: upTo(EVENT_SEQ_MAX),
};

/** Undefined if the line is not valid JSON (EX-9). */
function checkedHeader(value: unknown): ExportHeader {
  const header = value as Partial<ExportHeader> | undefined;
  if (header?.holdfast !== 'export' || typeof header.format !== 'number') {
    throw invalid(
      'The file is not an export of Holdfast: its first line is not a header. Nothing was imported. Pass the file that holdfast export wrote.',
    );
  }
  if (header.format !== FORMAT) throw otherFormat(header.format);
  checkFields('', header, {
    kind: oneOf('sqlite', 'postgres'),
    schema: texts,
    epoch: upTo(Number.MAX_SAFE_INTEGER),
  });
  checkFields('seal', header.seal, SEAL);
  checkFields('counters', header.counters, COUNTERS);
  checkTogether(header as ExportHeader);
  return header as ExportHeader;
}

function checkFields(
  what: string,
  value: unknown,
  checks: Readonly<Record<string, Check>>,
): asserts value is object {
  if (typeof value !== 'object' || value === null) throw wrong(what, value, 'must be an object');
  for (const [name, check] of Object.entries(checks)) {
    const field = (value as Readonly<Record<string, unknown>>)[name];
    const why = check(field);
    if (why !== undefined) throw wrong(what === '' ? name : `${what}.${name}`, field, why);
  }
}

function checkTogether({ epoch, counters }: ExportHeader): void {
  if (epoch !== epochOf(counters.fence)) {
    throw wrong('epoch', epoch, `must be the epoch of counters.fence, ${epochOf(counters.fence)}`);
  }
  if (counters.eventsDeleted > counters.eventSeq) {
    throw wrong('counters.eventsDeleted', counters.eventsDeleted, 'must not be above eventSeq');
  }
}

function wrong(field: string, value: unknown, why: string): Fault {
  return invalid(
    `The header of the export is not valid: ${field} ${why}; got ${shown(value)}. Nothing was imported. Export again: the sealed store still has everything.`,
  );
}

function invalid(message: string): Fault {
  return new Fault('export-invalid', message);
}

function otherFormat(format: number): Fault {
  const which = format > FORMAT ? 'a newer' : 'an older';
  return new Fault(
    'export-format',
    `The export comes from ${which} version: its format is ${format}, and this version reads ${FORMAT}. Nothing was imported. Export and import with the same version.`,
  );
}
