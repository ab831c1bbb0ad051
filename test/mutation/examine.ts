// Judges many mutants, two at a time by default, and describes each verdict.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  CONTRACTS,
  listMutants,
  MUTATED_STORES,
  type Mutant,
  type MutatedStore,
} from './mutants.ts';
import { judge, judgeOriginal, type Killers, type Verdict } from './verdict.ts';

export interface Examined {
  readonly mutant: Mutant;
  readonly verdict: Verdict;
  /** The problem with the verdict. Undefined if it is as expected. */
  readonly problem?: string;
}

/**
 * Mutants that no case can kill, each with the reason. The list may only shrink. If the reason
 * starts with "at once", a lucky race may kill the mutant.
 */
export function allowedSurvivors(): Readonly<Record<string, string>> {
  const file = join(import.meta.dirname, 'survivors.json');
  return JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, string>>;
}

export function allMutants(stores: readonly MutatedStore[] = MUTATED_STORES): readonly Mutant[] {
  return stores.flatMap(listMutants);
}

const AT_ONCE = 2;

export async function examine(
  mutants: readonly Mutant[],
  killers: Killers,
  options: {
    readonly postgresUrl?: string;
    readonly atOnce?: number;
    readonly onExamined?: (examined: Examined) => void;
  } = {},
): Promise<readonly Examined[]> {
  const allowed = allowedSurvivors();
  const queue = [...mutants];
  const done: Examined[] = [];
  const work = async (): Promise<void> => {
    for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
      const verdict = await judge(mutant, killers, options.postgresUrl);
      const problem = problemOf(verdict, allowed[mutant.id]);
      const examined = { mutant, verdict, ...(problem === undefined ? {} : { problem }) };
      done.push(examined);
      options.onExamined?.(examined);
    }
  };
  await Promise.all(Array.from({ length: options.atOnce ?? AT_ONCE }, work));
  return done;
}

/** A case that fails without any mutation has killed nothing. */
export async function falseKills(
  examined: readonly Examined[],
  postgresUrl: string | undefined,
): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const original of ORIGINALS) {
    const titles = new Set(
      examined.flatMap(({ mutant, verdict }) =>
        mutant.store === original.store &&
        mutant.contract === original.contract &&
        verdict.kind === 'killed'
          ? [verdict.by]
          : [],
      ),
    );
    if (titles.size === 0) continue;
    const verdict = await judgeOriginal(original, [...titles], postgresUrl);
    if (verdict.kind === 'survived') continue;
    const what = verdict.kind === 'killed' ? `${verdict.by}: ${verdict.message}` : verdict.message;
    problems.push(`${original.store} fails without any mutation, so no kill counts: ${what}`);
  }
  return problems;
}

const ORIGINALS = MUTATED_STORES.flatMap((store) =>
  CONTRACTS.map((contract) => ({ store, contract })),
);

function problemOf(verdict: Verdict, allowed: string | undefined): string | undefined {
  switch (verdict.kind) {
    case 'killed':
      return allowed === undefined || allowed.startsWith('at once')
        ? undefined
        : 'is killed: take it off survivors.json';
    case 'survived':
      return allowed === undefined ? `survives all ${verdict.cases} cases` : undefined;
    case 'broken':
      return `does not run: ${verdict.message}`;
  }
}

/** Entries of survivors.json without a mutant. */
export function staleSurvivors(): readonly string[] {
  const known = new Set(allMutants().map(({ id }) => id));
  return Object.keys(allowedSurvivors()).filter((id) => !known.has(id));
}

export function describeVerdict({ mutant, verdict, problem }: Examined): string {
  const mark = problem === undefined ? '✔' : '✘';
  switch (verdict.kind) {
    case 'killed':
      return `${mark} ${mutant.id}  killed by  ${verdict.by}`;
    case 'survived':
      return `${mark} ${mutant.id}  survived ${verdict.cases} cases`;
    case 'broken':
      return `${mark} ${mutant.id}  ${problem}`;
  }
}
