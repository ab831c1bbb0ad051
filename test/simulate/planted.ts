// Runs each planted bug until a seed finds it.

import { PLANTED_BUGS, type PlantedBug } from './planted-bugs.ts';
import { runSeeds, withBug } from './run-seeds.ts';

export interface PlantedVerdict {
  readonly bug: PlantedBug;
  /** How many seeds ran. */
  readonly seeds: number;
  /** The number of the first seed that found it, counted from one. */
  readonly foundAt: number | undefined;
  /** The rule that its checker named. */
  readonly by: string | undefined;
}

export async function huntPlanted(options: {
  readonly first: number;
  readonly seedsMax: number;
  readonly only: string;
  readonly processes: number;
  readonly onVerdict: (verdict: PlantedVerdict) => void;
}): Promise<void> {
  for (const bug of PLANTED_BUGS.filter(({ id }) => id.includes(options.only))) {
    options.onVerdict(await hunt(bug, options));
  }
}

async function hunt(
  bug: PlantedBug,
  {
    first,
    seedsMax,
    processes,
  }: { readonly first: number; readonly seedsMax: number; readonly processes: number },
): Promise<PlantedVerdict> {
  let seeds = 0;
  let foundAt: number | undefined;
  let by: string | undefined;
  await runSeeds({
    ...{ first, count: seedsMax, processes, ...withBug(bug.id) },
    onReport({ violations }) {
      seeds += 1;
      if (foundAt !== undefined || violations.length === 0) return foundAt !== undefined;
      foundAt = seeds;
      by = [...new Set(violations.map(({ rule }) => rule))].join(', ');
      return true;
    },
  });
  return { bug, seeds, foundAt, by };
}

export function plantedTable(verdicts: readonly PlantedVerdict[]): string {
  return [
    '| planted bug | rules | found by | in seed |',
    '|---|---|---|---:|',
    ...verdicts.map(({ bug, foundAt, seeds, by }) =>
      foundAt === undefined
        ? `| ${bug.id} | ${bug.rules} | not in ${seeds} seeds | – |`
        : `| ${bug.id} | ${bug.rules} | ${by} | ${foundAt} |`,
    ),
  ].join('\n');
}
