// Handmade exports: each contains something that no real export contains, under matching digests.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mustSubmit } from '../../contract/execution/worker.ts';
import { openStore } from '../../src/embedded/open-store.ts';
import { Fault } from '../../src/support/fault.ts';
import { exported, imported, type Place } from './exported.ts';

type Line = Record<string, unknown> | readonly unknown[];

/** Lines as values; changed lines get a new digest. */
function textOf(lines: readonly Line[]): string {
  const hash = createHash('sha256');
  return lines
    .map((line) => {
      const digest = 'digest' in line ? { digest: hash.copy().digest('hex') } : {};
      const text = JSON.stringify(Array.isArray(line) ? line : { ...line, ...digest });
      hash.update(text).update('\n');
      return `${text}\n`;
    })
    .join('');
}

/** A change of the header line. */
type Headed = (header: Record<string, Record<string, unknown>>) => Record<string, unknown>;

const counting =
  (counters: object): Headed =>
  (header) => ({ ...header, counters: { ...header['counters'], ...counters } });

const sealing =
  (seal: object): Headed =>
  (header) => ({ ...header, seal: { ...header['seal'], ...seal } });

const FENCES = [-1, 0, 1.5, 2 ** 40 - 1, 2 ** 53, 1e300, null, 'x', '1; drop table meta', {}, []];
const TIMES = [-5, 0.5, 1e300, 8.64e15, 8.64e15 + 1, 'x', null, Date.now() + 400 * 86_400_000];
const SEQS = [-1, 1.5, 2 ** 53, 1e300, 'x', null];

const HEADERS: readonly (readonly [field: string, Headed])[] = [
  ['counters', (header) => ({ ...header, counters: undefined })],
  ['counters', (header) => ({ ...header, counters: 5 })],
  ['seal', (header) => ({ ...header, seal: undefined })],
  ['seal', (header) => ({ ...header, seal: null })],
  ['kind', (header) => ({ ...header, kind: 'oracle' })],
  ['schema', (header) => ({ ...header, schema: [1] })],
  ['epoch', (header) => ({ ...header, epoch: 7 })],
  ...FENCES.map((fence) => ['counters.fence', counting({ fence })] as const),
  ...FENCES.filter((each) => each !== null).map(
    (halted) => ['counters.halted', counting({ halted })] as const,
  ),
  ...TIMES.map((clockAt) => ['counters.clockAt', counting({ clockAt })] as const),
  ...SEQS.map((eventSeq) => ['counters.eventSeq', counting({ eventSeq })] as const),
  ...SEQS.map((eventsDeleted) => ['counters.eventsDeleted', counting({ eventsDeleted })] as const),
  ['counters.eventsDeleted', counting({ eventsDeleted: 2 ** 40 })],
  ...['id', 'actor', 'reason', 'to'].map(
    (name) => [`seal.${name}`, sealing({ [name]: 5 })] as const,
  ),
  ...['at', 'heldUntil'].map((name) => [`seal.${name}`, sealing({ [name]: 'x' })] as const),
];

type Changed = (lines: readonly Line[]) => readonly Line[];

const isTable =
  (table: string) =>
  (line: Line): boolean =>
    'table' in line && line['table'] === table;

/** Replaces the first row of executions, or the line before it. */
const executions =
  (offset: 0 | 1, change: (line: never) => Line): Changed =>
  (lines) => {
    const at = lines.findIndex(isTable('execution')) + offset;
    return lines.with(at, change(lines[at] as never));
  };

const cell = (value: unknown): Changed =>
  executions(1, (row: readonly unknown[]) => row.with(1, value));

const columned = (change: (columns: readonly unknown[]) => unknown): Changed =>
  executions(0, (line: { readonly columns: readonly unknown[] }) => ({
    ...line,
    columns: change(line.columns),
  }));

const named =
  (column: string, value: unknown): Changed =>
  (lines) => {
    const table = lines.find(isTable('execution')) as { readonly columns: readonly string[] };
    const at = table.columns.indexOf(column);
    return executions(1, (row: readonly unknown[]) => row.with(at, value))(lines);
  };

const without =
  (table: string): Changed =>
  (lines) => {
    const from = lines.findIndex(isTable(table));
    const to = lines.findIndex((line, at) => at > from && 'table' in line);
    const rows = lines.slice(from, to).filter(Array.isArray).length;
    return lines
      .toSpliced(from, to - from)
      .map((line) => ('end' in line ? { ...line, rows: Number(line['rows']) - rows } : line));
  };

const ROWS: readonly (readonly [why: RegExp, Changed])[] = [
  [/"\w+" is .*, which a store cannot hold/, cell({ x: 1 })],
  [/which a store cannot hold/, cell({ b: 5 })],
  [/which a store cannot hold/, cell({ b: 'AA==', x: 1 })],
  [/"\w+" is .*, which a store cannot hold/, cell([1])],
  [/"\w+" is true, which a store cannot hold/, cell(true)],
  [/columns are not a list of names/, columned(() => [])],
  [/columns are not a list of names/, columned(() => 'id')],
  [/columns are not a list of names/, columned((all) => all.with(0, {}))],
  [/one of its columns comes twice/, columned((all) => all.with(1, all[0]))],
  [/"fence" is number \d+, but the header has the counter \d+/, named('fence', 2 ** 42)],
  [/"fence" is .*"x", but the header has/, named('fence', 'x')],
  [/the table "history" is missing/, without('history')],
  [/cannot be stored: .*Nothing was imported/s, named('project', null)],
  [/cannot be stored: .*Nothing was imported/s, named('seq', 'many')],
];

/** EX-9: the import refuses each with reason and line, and imports nothing. */
export async function refusesWhatWasMadeByHand(folder: string, to: Place): Promise<void> {
  const file = await exportedIn(folder);
  const text = await readFile(file, 'utf8');
  const [header = {}, ...rest] = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
  const forged = join(folder, 'forged.ndjson');
  const attempt = async (lines: readonly Line[], why: RegExp): Promise<void> => {
    await writeFile(forged, textOf(lines));
    await assert.rejects(
      () => imported(to, forged),
      (fault: unknown) => {
        assert.ok(fault instanceof Fault, `${why}: ${fault}`);
        assert.match(fault.message, why);
        return true;
      },
    );
  };
  for (const [field, change] of HEADERS) {
    const why = new RegExp(`header .*: ${field} must .*got .*Nothing was imported`);
    await attempt([change(header as never), ...rest], why);
  }
  for (const [why, change] of ROWS) await attempt(change([header, ...rest]), why);
  await writeFile(forged, textOf([header, ...rest]));
  assert.equal((await imported(to, forged)).kind, 'imported', 'the change was the reason');
}

async function exportedIn(folder: string): Promise<string> {
  const place = { store: join(folder, 'old.db') };
  const store = await openStore(place.store);
  for (let n = 0; n < 3; n += 1) await mustSubmit(store);
  await store.close();
  const file = join(folder, 'all.ndjson');
  await exported(place, file);
  return file;
}
