// The child process of one mutant: runs the contract until a case fails and says which.

import type { ContractCase } from '../../src/testing/index.ts';
import { leaseContract, runCase, skipReason } from '../../src/testing/index.ts';
import { openBackend } from '../model/backends.ts';
import type { Mutant } from './mutants.ts';
import type { Verdict } from './verdict.ts';

const mutant = JSON.parse(process.env['HOLDFAST_MUTANT'] ?? 'null') as Mutant;
const firstTitles = JSON.parse(process.env['HOLDFAST_FIRST_CASES'] ?? '[]') as readonly string[];

const { backend, release } = await openBackend(mutant.store);
const verdict = await judge();
await release();
console.log(JSON.stringify(verdict));

async function judge(): Promise<Verdict> {
  if (process.env['HOLDFAST_MUTANT_LOADED'] !== mutant.id) {
    return { kind: 'broken', message: 'the mutated file was not loaded' };
  }
  const cases = ordered().filter((each) => skipReason(each, backend) === undefined);
  for (const each of cases) {
    const error = await runCase(each, backend).then(
      () => undefined,
      (reason: unknown) => describe(reason),
    );
    if (error === undefined) continue;
    return /syntax error|incomplete input|could not determine data type/.test(error)
      ? { kind: 'broken', message: error }
      : { kind: 'killed', by: titleOf(each), message: error.split('\n')[0] ?? '' };
  }
  return { kind: 'survived', cases: cases.length };
}

/** What killed it before comes first. */
function ordered(): readonly ContractCase[] {
  const isFirst = (each: ContractCase): boolean => firstTitles.includes(titleOf(each));
  return [...leaseContract.filter(isFirst), ...leaseContract.filter((each) => !isFirst(each))];
}

function titleOf({ upholds, name }: ContractCase): string {
  return `${upholds}: ${name}`;
}

function describe(reason: unknown): string {
  if (!(reason instanceof Error)) return String(reason);
  return reason.cause === undefined
    ? reason.message
    : `${reason.message} ← ${describe(reason.cause)}`;
}
