// Export and import: `exportStore` seals a store and writes everything to a file, `importStore` loads that
// into an empty store, and `unsealStore` removes a seal.

import type { ExportedRows, ExportPort } from '../features/export/port.ts';
import { epochOf } from '../lease/fence.ts';
import { OPTION_NAMES } from '../store/postgres/store-options.ts';
import { Fault } from '../support/fault.ts';
import { boundedText, optionalFunctions, readOptions } from '../support/options.ts';
import { systemRandom } from '../support/random.ts';
import { systemTimers } from '../support/timer.ts';
import { ExportFile, linesOf } from './export-files.ts';
import { FORMAT, LineReader, LineWriter } from './export-lines.ts';
import { inspectStore, type PostgresSettings, storePlace, withoutSqlite } from './open-store.ts';

/** Options of `exportStore`. */
export interface ExportStoreOptions {
  /** The store: `postgres://…`, or the path of a SQLite file. */
  readonly store: string;
  /** The file to write. It is gzipped if its name ends in `.gz`. */
  readonly to: string;
  /** The actor. Shown to callers that the sealed store refuses. */
  readonly actor: string;
  /** Why. Shown to callers that the sealed store refuses. */
  readonly reason: string;
  /** Connection settings for PostgreSQL. */
  readonly postgres?: PostgresSettings;
  /** Called as the export progresses. */
  readonly onProgress?: (progress: ExportProgress) => void;
}

/** The progress of an export or import. */
export interface ExportProgress {
  /**
   * `sealed`: the store takes no more writes. `rows`: rows are copied. `waiting`: all rows are
   * copied, and leases of the old store still have to lapse.
   */
  readonly doing: 'sealed' | 'rows' | 'waiting';
  /** The table that is copied. */
  readonly table?: string;
  /** How many rows were copied. */
  readonly rows: number;
  /** Milliseconds left to wait. */
  readonly leftMs?: number;
}

/** The result of `exportStore`. */
export interface StoreExported {
  /** `exported`, or `exported-again` if the store was sealed before. The content is the same. */
  readonly kind: 'exported' | 'exported-again';
  /** The id of the export. */
  readonly id: string;
  /** The epoch of the store. */
  readonly epoch: number;
  /** How many rows were written. */
  readonly rows: number;
}

const EXPORT_NAMES = ['store', 'to', 'actor', 'reason', 'postgres', 'onProgress'] as const;

/**
 * Seals a store and writes its content to a file. The store takes no more writes.
 *
 * Waits until all its leases have lapsed. If it fails after the seal, call it again. Throws a
 * `Fault` with code `store-unknown` if there is no store, and `StoreUnavailable` if it cannot be
 * reached.
 *
 * @example
 * await exportStore({ store: './old.db', to: './export.gz', actor: 'ada', reason: 'to PostgreSQL' });
 */
export async function exportStore(options: ExportStoreOptions): Promise<StoreExported> {
  const checked = checkedExport(options);
  const port = await openExistingForExport(checked.store, checked.postgres);
  try {
    const file = await ExportFile.make(checked.to);
    try {
      const exported = await writeAll(port, { ...checked, file });
      await file.finish();
      return exported;
    } catch (fault) {
      await file.discard();
      throw fault;
    }
  } finally {
    await port.close();
  }
}

function checkedExport(options: ExportStoreOptions): ExportStoreOptions {
  const read = readOptions('exportStore', options, EXPORT_NAMES);
  for (const name of ['store', 'to', 'actor', 'reason'] as const) {
    boundedText(`exportStore: ${name}`, read[name], TEXT_MAX);
  }
  optionalFunctions('exportStore', { onProgress: read.onProgress });
  return { ...read, postgres: postgresOf('exportStore', read.postgres) };
}

interface Writing extends ExportStoreOptions {
  readonly file: ExportFile;
}

async function writeAll(port: ExportPort, writing: Writing): Promise<StoreExported> {
  const { to, actor, reason, file, onProgress = () => undefined } = writing;
  const id = systemRandom.uuid();
  const { kind, seal } = await port.seals.seal({ id, actor, reason, to });
  onProgress({ doing: 'sealed', rows: 0 });
  const writer = new LineWriter();
  const epoch = await port.dump(async (dumped) => {
    const { counters } = dumped;
    const of = { kind: port.kind, schema: port.schema, epoch: epochOf(counters.fence) };
    const header = {
      holdfast: 'export',
      format: FORMAT,
      ...of,
      seal: dumped.seal,
      counters,
    } as const;
    await file.write(writer.header(header));
    for await (const some of dumped.rows) {
      await file.write(writer.some(some));
      onProgress({ doing: 'rows', table: some.table, rows: writer.rows });
    }
    return of.epoch;
  });
  await untilAllLapsed(port, { heldUntil: seal.heldUntil, rows: writer.rows, onProgress });
  await file.write(writer.end());
  const again = kind === 'sealed' ? 'exported' : 'exported-again';
  return { kind: again, id: seal.id, epoch, rows: writer.rows };
}

interface Waiting {
  readonly heldUntil: number;
  readonly rows: number;
  readonly onProgress: (progress: ExportProgress) => void;
}

const POLL_MS = 250;

/**
 * An export is complete only when no holder can still believe that it holds a lease of this store.
 * This needs no clock of another store (EX-4).
 */
async function untilAllLapsed(port: ExportPort, waiting: Waiting): Promise<void> {
  const { heldUntil, rows, onProgress } = waiting;
  for (;;) {
    const leftMs = heldUntil - (await port.now());
    if (leftMs <= 0) return;
    onProgress({ doing: 'waiting', rows, leftMs });
    await systemTimers.pause(Math.min(leftMs, POLL_MS));
  }
}

/** Options of `importStore`. */
export interface ImportStoreOptions {
  /**
   * The store: `postgres://…`, or the path of a SQLite file. It is created if it does not exist,
   * and must be empty.
   */
  readonly store: string;
  /** A file that `exportStore` wrote. */
  readonly from: string;
  /** The actor. */
  readonly actor: string;
  /** Connection settings for PostgreSQL. */
  readonly postgres?: PostgresSettings;
  /** Called as the import progresses. */
  readonly onProgress?: (progress: ExportProgress) => void;
}

/** The result of `importStore`. */
export interface StoreImported {
  /** Always `imported`. */
  readonly kind: 'imported';
  /** The id of the export. */
  readonly id: string;
  /** The new epoch. All new fences are greater than those of the old store. */
  readonly epoch: number;
  /** How many rows were read. */
  readonly rows: number;
}

const IMPORT_NAMES = ['store', 'from', 'actor', 'postgres', 'onProgress'] as const;

/**
 * Loads an export into an empty store, completely or not at all.
 *
 * Throws a `Fault` with code `store-not-empty` if the store has content. If the file is damaged or
 * a row cannot be stored, the `Fault` names the line. Nothing is written then.
 *
 * @example
 * await importStore({ store: 'postgres://localhost/holdfast', from: './export.gz', actor: 'ada' });
 */
export async function importStore(options: ImportStoreOptions): Promise<StoreImported> {
  const { store, from, actor, postgres, onProgress } = checkedImport(options);
  const lines = linesOf(from)[Symbol.asyncIterator]();
  const reader = new LineReader();
  const header = reader.header((await nextLine(lines, reader)) ?? '');
  const port = await openForExport(store, postgres);
  try {
    const { seal, counters } = header;
    const reason = `imported from ${header.kind}, which ${seal.actor} sealed (${seal.reason}), export ${seal.id}`;
    const rows = withProgress(batches(lines, reader), reader, onProgress);
    const result = await port.load({ actor, reason, counters, rows }).catch(placed(reader));
    if (result.kind === 'refused') throw notEmpty(result.tables);
    return { kind: 'imported', id: seal.id, epoch: result.epoch, rows: reader.rows };
  } finally {
    await lines.return?.(undefined);
    await port.close();
  }
}

function checkedImport(options: ImportStoreOptions): ImportStoreOptions {
  const read = readOptions('importStore', options, IMPORT_NAMES);
  for (const name of ['store', 'from', 'actor'] as const) {
    boundedText(`importStore: ${name}`, read[name], TEXT_MAX);
  }
  optionalFunctions('importStore', { onProgress: read.onProgress });
  return { ...read, postgres: postgresOf('importStore', read.postgres) };
}

/** A truncated gzip file reports itself; a missing file is not damage. */
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
    throw reader.broken(`it cannot be decompressed further (${(cause as Error).message})`);
  }
}

const BATCH_ROWS = 200;
const BATCH_BYTES = 4 * 1_024 * 1_024;

/** Groups rows of one table into batches that insert fast and fit into memory. */
async function* batches(
  lines: AsyncIterator<string>,
  reader: LineReader,
): AsyncGenerator<ExportedRows> {
  let batch: ExportedRows | undefined;
  let bytes = 0;
  for (;;) {
    const text = await nextLine(lines, reader);
    if (text === undefined) break;
    const read = reader.read(text);
    if (read === undefined) continue;
    const isFull = bytes >= BATCH_BYTES || (batch?.rows.length ?? 0) >= BATCH_ROWS;
    if (batch !== undefined && (isFull || batch.table !== read.table)) {
      yield batch;
      batch = undefined;
      bytes = 0;
    }
    bytes += text.length;
    const { table, columns } = read;
    batch = { table, columns, rows: [...(batch?.rows ?? []), ...read.rows] };
  }
  if (batch !== undefined) yield batch;
  reader.finish();
}

async function* withProgress(
  rows: AsyncIterable<ExportedRows>,
  reader: LineReader,
  onProgress: ImportStoreOptions['onProgress'],
): AsyncGenerator<ExportedRows> {
  for await (const some of rows) {
    onProgress?.({ doing: 'rows', table: some.table, rows: reader.rows });
    yield some;
  }
}

const REJECTIONS = ['store-rejected', 'invalid-input'] as const;

/** Names the lines of the file that the store cannot accept. */
function placed(reader: LineReader): (fault: unknown) => never {
  return (fault) => {
    if (!(fault instanceof Fault)) throw fault;
    const code = REJECTIONS.find((each) => each === fault.code);
    if (code === undefined) throw fault;
    throw new Fault(
      code,
      `The rows before line ${reader.line} of the export cannot be stored: ${fault.message} Nothing was imported.`,
      { cause: fault },
    );
  };
}

function notEmpty(tables: readonly string[]): Fault {
  return new Fault(
    'store-not-empty',
    `The store is not empty (${tables.join(', ')}). Nothing was imported. Import into a new file, database or schema.`,
  );
}

export const TEXT_MAX = 4_096;

const POSTGRES_NAMES = OPTION_NAMES.filter((name) => name !== 'url');

function postgresOf(what: string, value: PostgresSettings | undefined): PostgresSettings {
  return value === undefined ? {} : readOptions(`${what}: postgres`, value, POSTGRES_NAMES);
}

/** Refuses a missing store, because the name is probably mistyped, and creates nothing. */
async function openExistingForExport(
  text: string,
  postgres: PostgresSettings = {},
): Promise<ExportPort> {
  const { exists } = await inspectStore(text, postgres);
  if (exists) return openForExport(text, postgres);
  throw new Fault(
    'store-unknown',
    'There is no store at this path or URL. Nothing was created. Check --store.',
  );
}

/** Opens a sealed store, too. */
export async function openForExport(
  text: string,
  postgres: PostgresSettings = {},
): Promise<ExportPort> {
  const place = storePlace(text);
  if (place.kind === 'postgres') {
    const { openPostgresForExport } = await import('../store/postgres/export/open-for-export.ts');
    return openPostgresForExport({ ...postgres, url: place.url });
  }
  const { openSqliteForExport } = await import('../store/sqlite/export/open-for-export.ts').catch(
    withoutSqlite,
  );
  return openSqliteForExport(place.file);
}

/** Options of `unsealStore`. */
export interface UnsealStoreOptions {
  /** The store: `postgres://…`, or the path of a SQLite file. */
  readonly store: string;
  /** The actor. */
  readonly actor: string;
  /** Why. */
  readonly reason: string;
  /** Connection settings for PostgreSQL. */
  readonly postgres?: PostgresSettings;
}

/** The result of `unsealStore`. */
export interface StoreUnsealed {
  /** Always `unsealed`. */
  readonly kind: 'unsealed';
  /** The new epoch. */
  readonly epoch: number;
}

const UNSEAL_NAMES = ['store', 'actor', 'reason', 'postgres'] as const;

/**
 * Removes the seal of an exported store, so that it takes writes again.
 *
 * Make sure first that the export was not imported; otherwise two stores continue the same work.
 * Throws a `Fault` with code `not-sealed` if the store is not sealed.
 *
 * @example
 * await unsealStore({ store: './old.db', actor: 'ada', reason: 'import abandoned' });
 */
export async function unsealStore(options: UnsealStoreOptions): Promise<StoreUnsealed> {
  const read = readOptions('unsealStore', options, UNSEAL_NAMES);
  const store = boundedText('unsealStore: store', read.store, TEXT_MAX);
  const actor = boundedText('unsealStore: actor', read.actor, TEXT_MAX);
  const reason = boundedText('unsealStore: reason', read.reason, TEXT_MAX);
  const port = await openExistingForExport(store, postgresOf('unsealStore', read.postgres));
  try {
    const result = await port.seals.unseal({ actor, reason });
    if (result.kind === 'unsealed') return { kind: 'unsealed', epoch: result.epoch };
    throw new Fault(
      'not-sealed',
      'The store is not sealed, so there is nothing to unseal. Nothing was changed.',
    );
  } finally {
    await port.close();
  }
}
