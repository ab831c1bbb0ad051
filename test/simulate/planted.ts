// Runs each planted bug until a seed finds it. `planted.jsonl` has the verdicts so far, and seeds add up
// over several hunts.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { accessContract, executionContract, leaseContract } from '../../contract/index.ts';
import { readProjectFile } from '../tidy/project-files.ts';
import { PLANTED_BUGS, type PlantedBug } from './planted-bugs.ts';
import { runSeeds, withBug } from './run-seeds.ts';

interface PlantedVerdict {
  readonly id: string;
  /** How many seeds ran. */
  readonly seeds: number;
  /** The rules that the checkers named. Undefined if no seed has found it. */
  readonly by?: string;
}

const FILE = join(import.meta.dirname, 'planted.jsonl');

function verdicts(): ReadonlyMap<string, PlantedVerdict> {
  const lines = readFileSync(FILE, 'utf8').split('\n');
  const all = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as PlantedVerdict);
  return new Map(all.map((verdict) => [verdict.id, verdict]));
}

function keep(verdict: PlantedVerdict): void {
  const all = new Map(verdicts()).set(verdict.id, verdict);
  const kept = PLANTED_BUGS.flatMap(({ id }) => all.get(id) ?? []);
  writeFileSync(FILE, kept.map((each) => `${JSON.stringify(each)}\n`).join(''));
}

/** Hunts the bugs that no seed has found yet. */
export async function huntPlanted(options: {
  readonly first: number;
  readonly seedsMax: number;
  readonly only: string;
  readonly processes: number;
  readonly onVerdict: (verdict: PlantedVerdict) => void;
}): Promise<void> {
  for (const { id, unreached } of PLANTED_BUGS) {
    const before = verdicts().get(id);
    if (!id.includes(options.only) || unreached !== undefined || before?.by !== undefined) continue;
    const verdict = await hunt(id, before?.seeds ?? 0, options);
    keep(verdict);
    options.onVerdict(verdict);
  }
}

async function hunt(
  id: string,
  before: number,
  given: { readonly first: number; readonly seedsMax: number; readonly processes: number },
): Promise<PlantedVerdict> {
  const { first, seedsMax, processes } = given;
  let seeds = before;
  let by: string | undefined;
  let finder: number | undefined;
  await runSeeds({
    ...{ first: first + before, count: seedsMax, processes, ...withBug(id) },
    onReport({ seed, violations }) {
      if (by !== undefined) return true;
      seeds += 1;
      if (violations.length === 0) return false;
      by = [...new Set(violations.map(({ rule }) => rule))].join(', ');
      finder = seed;
      return true;
    },
  });
  if (finder !== undefined) await passes(finder);
  return { id, seeds, ...(by === undefined ? {} : { by }) };
}

/** A seed that fails without the bug has not found it. */
async function passes(seed: number): Promise<void> {
  await runSeeds({
    ...{ first: seed, count: 1, processes: 1 },
    onReport({ violations: [first] }) {
      if (first !== undefined) throw new Error(`Seed ${seed} fails without a bug: ${first.rule}.`);
      return false;
    },
  });
}

export function plantedTable(): string {
  const all = verdicts();
  const found = PLANTED_BUGS.filter(({ id }) => all.get(id)?.by !== undefined).length;
  const row = ({ id, rules, test, unreached, needs = 'more seeds' }: PlantedBug): string => {
    const { by, seeds } = all.get(id) ?? { seeds: 0 };
    const found = by ?? `no: ${unreached ?? `it needs ${needs}`}`;
    return `| ${id} | ${rules} | ${found} | ${seeds} | ${test === undefined ? '–' : withLayer(test)} |`;
  };
  return [
    `Seeds found ${found} of ${PLANTED_BUGS.length} bugs.`,
    '',
    '| planted bug | rules | found by the simulator | seeds | found by a test |',
    '|---|---|---|---:|---|',
    ...PLANTED_BUGS.map(row),
    '',
    ...rulesWithoutBug(all),
  ].join('\n');
}

const CASES: ReadonlySet<string> = new Set(
  [...leaseContract, ...executionContract, ...accessContract].flatMap(({ upholds, name }) => [
    name,
    `${upholds}: ${name}`,
  ]),
);

function withLayer(test: string): string {
  return `${CASES.has(test) ? 'contract' : 'unit'}: ${test}`;
}

const RULE = /\b[A-Z]+-\d+\b/g;

/** The rules of the two specifications that no planted bug breaks. */
function rulesWithoutBug(all: ReadonlyMap<string, PlantedVerdict>): readonly string[] {
  const broken = new Set(
    PLANTED_BUGS.flatMap(({ id, rules }) => `${rules} ${all.get(id)?.by ?? ''}`.match(RULE) ?? []),
  );
  return ['lease', 'execution'].map((spec) => {
    const text = readProjectFile(`docs/spec/${spec}.md`);
    const rules = [...text.matchAll(/^- \*\*([A-Z]+-\d+)\*\*/gm)].map(([, rule = '']) => rule);
    const left = rules.filter((rule) => !broken.has(rule));
    const count = `${rules.length} rules of the ${spec} specification`;
    return left.length === 0
      ? `Each of the ${count} has a planted bug.`
      : `Of ${count}, ${left.length} have no planted bug: ${left.join(', ')}.`;
  });
}
