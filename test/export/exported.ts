// All rows of a store, as an export has them, and how tests compare them.

import assert from 'node:assert/strict';
import {
  exportStore,
  importStore,
  openForExport,
  type StoreExported,
  type StoreImported,
} from '../../src/embedded/export-store.ts';
import type { PostgresSettings } from '../../src/embedded/open-store.ts';
import type { Cell } from '../../src/features/export/port.ts';
import type { Counters } from '../../src/features/export/rows.ts';

export interface Place {
  readonly store: string;
  readonly postgres?: PostgresSettings;
}

export function exported(from: Place, file: string): Promise<StoreExported> {
  return exportStore({ ...from, actor: 'olga', reason: 'to a server', to: file });
}

export function imported(to: Place, file: string): Promise<StoreImported> {
  return importStore({ ...to, actor: 'olga', from: file });
}

/** The epoch of the new store. */
export async function exportAndImport(from: Place, to: Place, file: string): Promise<number> {
  await exported(from, file);
  return (await imported(to, file)).epoch;
}

export interface AllRows {
  readonly counters: Counters;
  /** By table: each row as an object, in a fixed order. */
  readonly tables: ReadonlyMap<string, readonly Readonly<Record<string, unknown>>[]>;
}

/** The rows of a sealed store. */
export async function allRows({ store, postgres }: Place): Promise<AllRows> {
  const port = await openForExport(store, postgres);
  try {
    return await port.dump(async ({ counters, rows }) => {
      const tables = new Map<string, Record<string, unknown>[]>();
      for await (const { table, columns, rows: some } of rows) {
        const found = tables.get(table) ?? [];
        tables.set(table, found);
        for (const row of some) found.push(recordOf(columns, row));
      }
      for (const found of tables.values()) found.sort(inOrder);
      return { counters, tables };
    });
  } finally {
    await port.close();
  }
}

const JSON_COLUMNS: ReadonlySet<string> = new Set(['path', 'metadata', 'detail', 'intents']);

/** The format of JSON does not matter. */
function recordOf(columns: readonly string[], row: readonly Cell[]): Record<string, unknown> {
  const entries = columns.map((name, at) => {
    const cell = row[at] ?? null;
    if (cell instanceof Uint8Array) return [name, Buffer.from(cell).toString('hex')];
    return [name, JSON_COLUMNS.has(name) ? JSON.parse(String(cell)) : cell];
  });
  return Object.fromEntries(entries.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)));
}

function inOrder(a: unknown, b: unknown): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
}

/** Leaves out what a second seal adds to the first: ends, and the raised epoch. */
export function expectEqual(after: AllRows, before: AllRows): void {
  for (const [table, rows] of before.tables) {
    const found = after.tables.get(table) ?? [];
    const kept =
      table === 'event'
        ? found.filter(({ seq }) => Number(seq) <= before.counters.eventSeq)
        : found;
    assert.deepEqual(kept, rows, `the table "${table}"`);
  }
}
