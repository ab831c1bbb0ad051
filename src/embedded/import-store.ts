// `importStore`: puts an export into a store that is empty.

import type { MovedRows } from '../features/export/port.ts';
import { Fault } from '../support/fault.ts';
import { boundedText, readOptions } from '../support/options.ts';
import type { MoveProgress } from './export-store.ts';
import { linesOf } from './move-files.ts';
import type { ExportHeader } from './move-header.ts';
import { LineReader } from './move-lines.ts';
import { openMove, optionalFunction, postgresOf, TEXT_MAX } from './move-options.ts';
import type { PostgresSettings } from './open-store.ts';

export interface ImportStoreOptions {
  /** `postgres://…`, or the path of a SQLite file. Made when it is not there; nothing may be in it. */
  readonly store: string;
  /** What `exportStore` made. */
  readonly from: string;
  readonly actor: string;
  readonly postgres?: PostgresSettings;
  readonly onProgress?: (progress: MoveProgress) => void;
}

export interface StoreImported {
  readonly kind: 'imported';
  /** Of the export. */
  readonly id: string;
  /** Fences are issued from here on, above all that the old store has issued. */
  readonly epoch: number;
  readonly rows: number;
}

const NAMES = ['store', 'from', 'actor', 'postgres', 'onProgress'] as const;

/** EX-8, EX-9: all of it or nothing. */
export async function importStore(options: ImportStoreOptions): Promise<StoreImported> {
  const { store, from, actor, postgres, onProgress } = checked(options);
  const lines = linesOf(from)[Symbol.asyncIterator]();
  const reader = new LineReader();
  const header = reader.header((await nextLine(lines, reader)) ?? '');
  const move = await openMove(store, postgres);
  try {
    const { seal, counters } = header;
    const reason = `imported from ${header.kind}, which ${seal.actor} sealed (${seal.reason}), export ${seal.id}`;
    const rows = told(batches(lines, reader), reader, onProgress);
    const answer = await move.load({ actor, reason, counters, rows }).catch(placed(reader));
    if (answer.kind === 'refused') throw notEmpty(answer.tables);
    return { kind: 'imported', id: seal.id, epoch: answer.epoch, rows: reader.rows };
  } finally {
    await lines.return?.(undefined);
    await move.close();
  }
}

function checked(options: ImportStoreOptions): ImportStoreOptions {
  const read = readOptions('importStore', options, NAMES);
  boundedText('importStore: store', read.store, TEXT_MAX);
  boundedText('importStore: from', read.from, TEXT_MAX);
  boundedText('importStore: actor', read.actor, TEXT_MAX);
  optionalFunction('importStore: onProgress', read.onProgress);
  return { ...read, postgres: postgresOf('importStore', read.postgres) };
}

/** A gzip that was cut says so itself; a file that is not there is no damage. */
async function nextLine(
  lines: AsyncIterator<string>,
  reader: LineReader,
): Promise<string | undefined> {
  try {
    const { value, done } = await lines.next();
    return done === true ? undefined : value;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code?.startsWith('Z_') !== true) throw cause;
    throw reader.broken(`it cannot be unpacked further (${(cause as Error).message})`);
  }
}

const BATCH_ROWS = 200;
const BATCH_BYTES = 4 * 1_024 * 1_024;

/** Rows of one table together, as many as are quickly inserted and easily kept. */
async function* batches(
  lines: AsyncIterator<string>,
  reader: LineReader,
): AsyncGenerator<MovedRows> {
  let batch: MovedRows | undefined;
  let bytes = 0;
  for (;;) {
    const text = await nextLine(lines, reader);
    if (text === undefined) break;
    const moved = reader.read(text);
    if (moved === undefined) continue;
    const isFull = bytes >= BATCH_BYTES || (batch?.rows.length ?? 0) >= BATCH_ROWS;
    if (batch !== undefined && (isFull || batch.table !== moved.table)) {
      yield batch;
      batch = undefined;
      bytes = 0;
    }
    bytes += text.length;
    const { table, columns } = moved;
    batch = { table, columns, rows: [...(batch?.rows ?? []), ...moved.rows] };
  }
  if (batch !== undefined) yield batch;
  reader.finish();
}

async function* told(
  rows: AsyncIterable<MovedRows>,
  reader: LineReader,
  onProgress: ImportStoreOptions['onProgress'],
): AsyncGenerator<MovedRows> {
  for await (const some of rows) {
    onProgress?.({ doing: 'rows', table: some.table, rows: reader.rows });
    yield some;
  }
}

/** What a store cannot take is somewhere in the file. */
function placed(reader: LineReader): (fault: unknown) => never {
  return (fault) => {
    if (!(fault instanceof Fault) || !['store-rejected', 'invalid-input'].includes(fault.code)) {
      throw fault;
    }
    throw new Fault(
      fault.code,
      `The rows before line ${reader.line} of the export cannot be stored here: ${fault.message} Nothing was imported.`,
      { cause: fault },
    );
  };
}

function notEmpty(tables: readonly string[]): Fault {
  return new Fault(
    'store-not-empty',
    `The store is not empty (${tables.join(', ')}): it was imported into already, or is in use. Nothing was changed. Import into a new file, database or schema.`,
  );
}

export type { ExportHeader };
