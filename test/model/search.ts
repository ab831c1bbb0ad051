// Searches for a program that the model does not explain, within the given time.

import fc from 'fast-check';
import type { ContractBackend } from '../../contract/index.ts';
import { systemClock } from '../../src/support/clock.ts';
import { oneAtATime, severalAtOnce } from './arbitrary-program.ts';
import { runProgram } from './run-program.ts';
import type { Program } from './step.ts';

/** `sequence`: one command after the other. `at-once`: some commands are concurrent. */
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
  /** How many programs to try. */
  readonly programs: number;
  /** With a failure: the path of that one program. */
  readonly path?: string;
}

export interface Found {
  readonly programs: number;
  readonly failure?: string;
  /** The smallest failing program, to keep. */
  readonly program?: Program;
}

/** How long to go on making a failing program smaller. */
const SHRINK_MS_MAX = 60_000;

export async function searchFailure(backend: ContractBackend, search: Search): Promise<Found> {
  let shrinkUntilMs = Number.POSITIVE_INFINITY;
  const property = fc.asyncProperty(PROGRAMS[search.kind], async (program) => {
    // Not fast-check's own limit, which would leave a program running beside the next one.
    if (systemClock.monotonicMs() >= shrinkUntilMs) return;
    try {
      await runProgram(backend, program);
    } catch (fault) {
      shrinkUntilMs = Math.min(shrinkUntilMs, systemClock.monotonicMs() + SHRINK_MS_MAX);
      throw fault;
    }
  });
  const result = await fc.check(property, {
    seed: search.seed,
    numRuns: search.programs,
    ...(search.path === undefined ? {} : { path: search.path, endOnFailure: true }),
  });
  const programs = result.numRuns;
  return result.failed ? { programs, ...describe(result, search) } : { programs };
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
