// Mutants of the stores that decide by predicates, in SQL or in Lua. A guard is a condition on its
// own line that ends with `-- guard: <name>`, which is a comment in both languages. Its mutants are
// the statement without it, and the statement with one of its bounds moved by one. Each must make a
// contract case fail. Guards in `executions/` belong to the contract of executions, guards in
// `access/` to that of keys, and others to that of leases. A guard in `sql/`, which both SQL stores
// run, has mutants on each of them. A guard that only PostgreSQL has ends with `(postgres)`.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const MUTATED_STORES = ['sqlite', 'postgres', 'redis'] as const;
export type MutatedStore = (typeof MUTATED_STORES)[number];

/** The contract whose cases must notice it. */
export const CONTRACTS = ['lease', 'execution', 'access'] as const;
export type ContractName = (typeof CONTRACTS)[number];

export interface Mutant {
  /**
   * `sqlite/checkpoint.ts:fence`, or with `<1` if the mutant moves the guard's first comparison.
   * `sqlite/sql/schedules.ts:content` is the mutant on SQLite of a file that both SQL stores share.
   */
  readonly id: string;
  readonly store: MutatedStore;
  readonly contract: ContractName;
  /** Below src/store. */
  readonly file: string;
  /** Counted from one. */
  readonly line: number;
  readonly before: string;
  readonly text: string;
}

export const STORES_FOLDER: string = join(import.meta.dirname, '../../src/store');

const FOLDERS: readonly { readonly below: string; readonly contract: ContractName }[] = [
  { below: '', contract: 'lease' },
  { below: 'executions/', contract: 'execution' },
  { below: 'access/', contract: 'access' },
];

/** The statements that both SQL stores run. */
const SHARED: typeof FOLDERS = [
  { below: 'sql/', contract: 'execution' },
  { below: 'sql/access/', contract: 'access' },
  { below: 'sql/leases/', contract: 'lease' },
];

/** Not every store keeps executions and keys. */
function foldersOf(store: MutatedStore): typeof FOLDERS {
  const own = FOLDERS.map(({ below, contract }) => ({ below: `${store}/${below}`, contract }));
  const folders = store === 'redis' ? own : [...own, ...SHARED];
  return folders.filter(({ below }) => existsSync(join(STORES_FOLDER, below)));
}

export interface StoreFile {
  /** Below src/store. */
  readonly file: string;
  readonly contract: ContractName;
  readonly source: string;
}

/** The files of a store that have statements, by name. */
export function storeFiles(store: MutatedStore): readonly StoreFile[] {
  return foldersOf(store).flatMap(({ below, contract }) =>
    readdirSync(join(STORES_FOLDER, below))
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
      .sort()
      .map((name) => {
        const file = `${below}${name}`;
        return { file, contract, source: readFileSync(join(STORES_FOLDER, file), 'utf8') };
      }),
  );
}

export function listMutants(store: MutatedStore): readonly Mutant[] {
  return storeFiles(store).flatMap(({ file, contract, source }) =>
    mutantsOf(source, store).map((mutant) => ({
      ...mutant,
      id: `${file.startsWith(store) ? file : `${store}/${file}`}:${mutant.id}`,
      store,
      contract,
      file,
    })),
  );
}

type TextMutant = Pick<Mutant, 'id' | 'line' | 'before' | 'text'>;

export function mutantsOf(source: string, store?: MutatedStore): readonly TextMutant[] {
  const seen = new Map<string, number>();
  return source.split('\n').flatMap((line, index): readonly TextMutant[] => {
    const guard = parseGuard(line);
    if (guard === undefined || (guard.only ?? store) !== store) return [];
    const count = (seen.get(guard.name) ?? 0) + 1;
    seen.set(guard.name, count);
    const name = count === 1 ? guard.name : `${guard.name}#${count}`;
    const place = { line: index + 1, before: line };
    return [
      { id: name, ...place, text: withoutGuard(guard) },
      ...movedBounds(guard).map((text, nth) => ({ id: `${name}<${nth + 1}`, ...place, text })),
    ];
  });
}

interface Guard {
  readonly name: string;
  readonly word: string;
  readonly condition: string;
  /** The only store that has it. */
  readonly only: string | undefined;
  /** The text after the comment: the end of the template, on its last line. */
  readonly rest: string;
}

function parseGuard(line: string): Guard | undefined {
  const match = /^\s*(?:(and|or|where)\s+)(.*?)\s*-- guard: ([\w-]+)(?: \((\w+)\))?(.*)$/.exec(
    line,
  );
  const [, word, condition, name, only, rest] = match ?? [];
  if (word === undefined || condition === undefined || name === undefined) {
    if (line.includes('-- guard:')) throw new Error(`not a guard on a line of its own: ${line}`);
    return undefined;
  }
  return { name, word, condition, only, rest: rest ?? '' };
}

/**
 * Has the effect of a missing line. The condition stays in a place where it is not evaluated, since
 * a server must still know the type of every parameter.
 */
function withoutGuard({ word, condition, rest }: Guard): string {
  return word === 'or'
    ? `or (false and (${condition}))${rest}`
    : `${word} (true or (${condition}))${rest}`;
}

const MOVED: Readonly<Record<string, string>> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' };

function movedBounds({ word, condition, rest }: Guard): readonly string[] {
  return [...condition.matchAll(/ (<=|>=|<|>) /g)].map((match) => {
    const operator = match[1] ?? '';
    const before = condition.slice(0, match.index);
    const after = condition.slice(match.index + match[0].length);
    return `${word} (${before} ${MOVED[operator] ?? operator} ${after})${rest}`;
  });
}
