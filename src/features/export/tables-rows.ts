// What a move takes along: one line for each table. Columns are found in the tables themselves; where the two
// SQL stores differ, each says how in its `move/rows.ts`. A test compares this with the schemas.

export interface MovedTable {
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

export interface LeftTable {
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
