import { Fault } from '../../support/fault.ts';

// What a move takes along: one line for each table. Columns are found in the tables themselves; where the two
// SQL stores differ, each says how in its `move/rows.ts`. A test compares this with the schemas.

interface MovedTable {
  readonly name: string;
  /** A row may have megabytes. */
  readonly isLarge?: true;
  /** The migration that made it; exports of stores without that do not have it. */
  readonly since?: string;
}

/** In this order: what is named by others comes first. */
export const MOVED_TABLES: readonly MovedTable[] = [
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
  // Before what it is about: a blob of an export that says nothing of projects is noted here when it is put in.
  { name: 'blob_of', since: '0007-blob-projects' },
  { name: 'blob', isLarge: true },
  { name: 'errand' },
  { name: 'template' },
  { name: 'schedule' },
  { name: 'await_unit' },
  { name: 'interaction' },
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
];

/** How many are in memory at a time. */
export function rowsAtOnce({ isLarge }: MovedTable): number {
  return isLarge === true ? 8 : 200;
}

export type SqlStore = 'sqlite' | 'postgres';

interface LeftTable {
  readonly name: string;
  readonly why: string;
  /** Only this store has it. */
  readonly only?: SqlStore;
}

/** Tables that stay; a seal refuses writes to them all the same. */
export const LEFT_TABLES: readonly LeftTable[] = [
  { name: 'meta', why: 'is about one store: what must go on from it is among the counters' },
  {
    name: 'ticket',
    why: 'who waits does so with a session, and all end with the seal: it asks again',
  },
  {
    name: 'worker',
    why: 'is said by sessions, and all end with the seal: their workers say it again',
  },
  { name: 'worker_route', why: 'goes with what its worker said' },
  {
    name: 'input',
    only: 'sqlite',
    why: 'goes with its execution, of which it is a column elsewhere',
  },
];

/** What a seal closes. `migration`, which only says how the others were made, is not among them. */
export function sealedTables(store: SqlStore): readonly string[] {
  const left = LEFT_TABLES.filter(({ only }) => only === undefined || only === store);
  return [...left, ...MOVED_TABLES].map(({ name }) => name);
}

/** What a store counts, beside its rows. */
export interface Counters {
  /** The last fence that was issued. */
  readonly fence: number;
  /** One that was presented and never issued, if any. */
  readonly halted: number | null;
  /** The latest time that the store has acted on. */
  readonly clockAt: number;
  readonly eventSeq: number;
  readonly eventsDeleted: number;
}

// Which columns of a table go into an export, and how they come back. The export has the columns that
// both SQL stores have; where a store has something else, it says how one follows from the other.

/** How a table differs from its section in an export. In expressions `:name` is a column of the export. */
export interface Differs {
  /** Columns of the export that are no column of the table, or another one: how they are read. */
  readonly reads?: Readonly<Record<string, string>>;
  /** Columns of the table that are not in the export under that name: what is written to them. */
  readonly writes?: Readonly<Record<string, string>>;
  /** Run after each insert. */
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

/** What is written to which column of the table, given these columns of an export. */
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

/** EX-9: what this build has no place for would be lost. */
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
    `The export has ${what}, which this version has no place for: it was made by a newer one. Nothing was imported; import it with that version.`,
  );
}

/** EX-5. */
export function notSealedFault(): Fault {
  return new Fault(
    'not-sealed',
    'Only a store that is sealed can be exported: what is written to it meanwhile would be lost. It was unsealed under way; export it again.',
  );
}
