// Looks for a program that the model does not explain, for as long as it is given.

import fc from 'fast-check';
import { systemClock } from '../../src/support/clock.ts';
import type { ContractBackend } from '../../src/testing/index.ts';
import { oneAtATime, severalAtOnce } from './arbitrary-program.ts';
import { runProgram } from './run-program.ts';
import type { Program } from './step.ts';

/** `sequence`: one command after the other. `at-once`: some are sent at the same time. */
export const KINDS = ['sequence', 'at-once'] as const;
export type Kind = (typeof KINDS)[number];

const PROGRAMS: Readonly<Record<Kind, fc.Arbitrary<Program>>> = {
  sequence: oneAtATime,
  'at-once': severalAtOnce,
};

export interface Search {
  readonly store: string;
  readonly kind: Kind;
  readonly seed: number;
  readonly seconds: number;
  /** Of a failure: to run that one program again. */
  readonly path?: string;
}

export interface Found {
  readonly programs: number;
  readonly failure?: string;
  /** The smallest program that failed, to be kept. */
  readonly program?: Program;
}

/** One seed makes so many programs; then comes the next seed. */
const PROGRAMS_PER_SEED = 5;
/** Making a program smaller takes its time, but not for ever. */
const SHRINK_MS_MAX = 60_000;

export async function searchFailure(backend: ContractBackend, search: Search): Promise<Found> {
  const endMs = systemClock.monotonicMs() + search.seconds * 1_000;
  let programs = 0;
  for (let seed = search.seed; ; seed += 1) {
    const result = await fc.check(
      fc.asyncProperty(PROGRAMS[search.kind], async (program) => {
        // Not fast-check's own limit: that would leave a program running beside the next one.
        if (systemClock.monotonicMs() < endMs + SHRINK_MS_MAX) await runProgram(backend, program);
      }),
      {
        seed,
        numRuns: PROGRAMS_PER_SEED,
        ...(search.path === undefined ? {} : { path: search.path, endOnFailure: true }),
      },
    );
    programs += result.numRuns;
    if (result.failed) return { programs, ...describe(result, { ...search, seed }) };
    if (search.path !== undefined || systemClock.monotonicMs() >= endMs) return { programs };
  }
}

function describe(
  result: fc.RunDetails<[Program]>,
  search: Search,
): { readonly failure: string; readonly program?: Program } {
  const { store, kind, seed } = search;
  const program = result.counterexample?.[0];
  const error = result.errorInstance;
  const path = result.counterexamplePath;
  const flags = `--store=${store} --kind=${kind} --seed=${seed}${path === null ? '' : ` --path=${path}`}`;
  const failure = [
    `The model does not explain the store "${store}" (${kind}), after ${result.numShrinks} shrinks:`,
    error instanceof Error ? error.message : String(error),
    `again: node test/model/main.ts ${flags}`,
    `to keep: ${JSON.stringify({ why: '?', program })}`,
  ].join('\n');
  return { failure, ...(program === undefined ? {} : { program }) };
}
