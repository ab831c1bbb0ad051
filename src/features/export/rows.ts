import { Fault } from '../../support/fault.ts';

// The tables of an export, one line each. The columns come from the tables themselves. Differences
// between the two SQL stores are in each store's `export/rows.ts`. A test compares this list with the
// schemas.

interface ExportedTable {
  readonly name: string;
  /** A row may have megabytes. */
  readonly isLarge?: true;
  /** The migration that created it. Exports of older stores do not have it. */
  readonly since?: string;
}

/** The order: a table comes before those that refer to it. */
export const EXPORTED_TABLES: readonly ExportedTable[] = [
  { name: 'session' },
  { name: 'lease', isLarge: true },
  { name: 'flap' },
  { name: 'event' },
  { name: 'execution' },
  { name: 'history' },
  { name: 'inbox' },
  { name: 'place' },
  { name: 'rate' },
  { name: 'label' },
  { name: 'attachment', isLarge: true },
  // Before `blob`: an older export does not name the projects of its blobs, so the import notes
  // them here.
  { name: 'blob_of', since: '0007-blob-projects' },
  { name: 'blob', isLarge: true },
  { name: 'errand' },
  { name: 'template' },
  { name: 'schedule' },
  { name: 'await_unit' },
  { name: 'interaction' },
  { name: 'question_limit', since: '0028-question-slots' },
  { name: 'late_answer' },
  { name: 'dead_letter' },
  { name: 'job_item' },
  { name: 'audit' },
  { name: 'refused_write' },
  { name: 'archived' },
  { name: 'archived_label' },
  { name: 'release', since: '0006-releases' },
  { name: 'release_line', since: '0006-releases' },
  { name: 'activation', since: '0006-releases' },
  { name: 'project' },
  { name: 'access_key' },
  { name: 'saved_view', since: '0013-saved-views' },
  // After all tables with a trigger that announces: an import announces nothing.
  { name: 'channel', since: '0019-channels' },
  { name: 'delivery', since: '0019-channels' },
  { name: 'alert', since: '0022-alerts' },
  { name: 'pending_erasure', since: '0024-pending-erasures' },
];

/** The number of rows in memory at a time. */
export function rowsAtOnce({ isLarge }: ExportedTable): number {
  return isLarge === true ? 8 : 200;
}

export type SqlStore = 'sqlite' | 'postgres';

interface LeftTable {
  readonly name: string;
  readonly why: string;
  /** Only this store has it. */
  readonly only?: SqlStore;
}

/** Tables that stay behind. A seal refuses writes to them all the same. */
export const LEFT_TABLES: readonly LeftTable[] = [
  { name: 'meta', why: 'describes one store; the counters of the export continue its numbers' },
  {
    name: 'ticket',
    why: 'waiters belong to sessions, which all end with the seal; they queue again',
  },
  {
    name: 'worker',
    why: 'announcements belong to sessions, which all end with the seal; workers announce again',
  },
  { name: 'worker_route', why: 'belongs to the announcement of its worker' },
  { name: 'worker_input', why: 'belongs to the announcement of its worker' },
  { name: 'rollup', why: 'the new store counts the executions again' },
  { name: 'rollup_position', why: 'belongs to the rollups' },
  {
    name: 'input',
    only: 'sqlite',
    why: 'the export has it as a column of its execution',
  },
];

/**
 * The tables that a seal closes. `migration` is not among them, because it only records the schema.
 */
export function sealedTables(store: SqlStore): readonly string[] {
  const left = LEFT_TABLES.filter(({ only }) => only === undefined || only === store);
  return [...left, ...EXPORTED_TABLES].map(({ name }) => name);
}

/** The counters of a store, besides its rows. */
export interface Counters {
  /** The last issued fence. */
  readonly fence: number;
  /** A presented fence that the store never issued, if any. */
  readonly halted: number | null;
  /** The latest time that the store has acted on. */
  readonly clockAt: number;
  readonly eventSeq: number;
  readonly eventsDeleted: number;
}

// The columns of an export, and how an import reads them. An export has the columns that both SQL
// stores have. A store that differs describes how to derive one from the other.

/**
 * Differences between a table and its section in an export. In expressions, `:name` is a column of
 * the export.
 */
export interface Differs {
  /** Expressions for columns of the export that the table does not have under that name. */
  readonly reads?: Readonly<Record<string, string>>;
  /** Expressions for columns of the table that the export does not have under that name. */
  readonly writes?: Readonly<Record<string, string>>;
  /** A statement that runs after each insert. */
  readonly also?: string;
}

/** The columns of the export, from those of the table. */
export function exportedColumns(
  found: readonly string[],
  differs: Differs = {},
): readonly string[] {
  const { reads = {}, writes = {} } = differs;
  const same = found.filter((name) => !Object.hasOwn(writes, name));
  return [...new Set([...same, ...Object.keys(reads)])];
}

/** The expression for each column of the table, given these columns of an export. */
export function writtenColumns(
  found: readonly string[],
  differs: Differs | undefined,
  given: readonly string[],
): readonly (readonly [column: string, expression: string])[] {
  const { writes = {} } = differs ?? {};
  return found.flatMap((name) => {
    const expression = writes[name] ?? (given.includes(name) ? `:${name}` : undefined);
    return expression === undefined ? [] : [[name, expression] as const];
  });
}

/**
 * Refuses tables and columns that this build cannot store, because their content would be lost
 * (EX-9).
 */
export function refuseUnknown(
  table: string,
  given: readonly string[],
  known: readonly string[] | undefined,
): void {
  if (known === undefined) throw newer(`the table "${table}"`);
  const unknown = given.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw newer(`"${unknown.join('", "')}" of the table "${table}"`);
}

function newer(what: string): Fault {
  return new Fault(
    'export-too-new',
    `The export has ${what}, which this version does not know: a newer version wrote it. Nothing was imported. Import it with that version.`,
  );
}

/** An export needs a sealed store (EX-5). */
export function notSealedFault(): Fault {
  return new Fault(
    'not-sealed',
    'The store was unsealed during its export, so the file may lack writes. Discard the file, and export again.',
  );
}
