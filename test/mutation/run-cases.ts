// The child process of one mutant: it runs the contract until a case fails, and prints which.

import { setTimeout } from 'node:timers/promises';
import { openContract, type TitledCase } from './contracts.ts';
import type { ContractName, Mutant, MutatedStore } from './mutants.ts';
import type { Verdict } from './verdict.ts';

/** Without a mutant only these run, and must pass: a case that fails anyway kills no mutant. */
const store = process.env['HOLDFAST_MUTATED_STORE'] as MutatedStore;
const contract = process.env['HOLDFAST_MUTATED_CONTRACT'] as ContractName;
const mutant = JSON.parse(process.env['HOLDFAST_MUTANT'] ?? 'null') as Mutant | null;
const firstTitles = JSON.parse(process.env['HOLDFAST_FIRST_CASES'] ?? '[]') as readonly string[];

const HANGS = 'no answer';
/** The message of a server for a statement that it cannot even plan. */
const BROKEN =
  /syntax error|incomplete input|could not determine data type|no query solution|Error compiling script/;
const CASE_MS_MAX = 20_000;

const { cases, release } = await openContract(contract, store);
const verdict = await judge();
console.log(JSON.stringify(verdict));
// A hanging store cannot be closed; the database goes with its server.
if (verdict.kind === 'killed' && verdict.message === HANGS) process.exit();
await release();

async function judge(): Promise<Verdict> {
  if (mutant !== null && process.env['HOLDFAST_MUTANT_LOADED'] !== mutant.id) {
    return { kind: 'broken', message: 'the mutated file was not loaded' };
  }
  const wanted = ordered();
  for (const each of wanted) {
    const error = await Promise.race([errorOf(each), silence()]);
    if (error === undefined) continue;
    return BROKEN.test(error)
      ? { kind: 'broken', message: error }
      : { kind: 'killed', by: each.title, message: error.split('\n')[0] ?? '' };
  }
  return { kind: 'survived', cases: wanted.length };
}

function errorOf(each: TitledCase): Promise<string | undefined> {
  return each.run().then(
    () => undefined,
    (reason: unknown) => describe(reason),
  );
}

/** A statement that refuses what the decision allows makes a store try for ever. */
function silence(): Promise<string> {
  return setTimeout(CASE_MS_MAX, HANGS, { ref: false });
}

/** The case that killed the mutant before comes first. */
function ordered(): readonly TitledCase[] {
  const isFirst = ({ title }: TitledCase): boolean => firstTitles.includes(title);
  const others = mutant === null ? [] : cases.filter((each) => !isFirst(each));
  return [...cases.filter(isFirst), ...others];
}

function describe(reason: unknown): string {
  if (!(reason instanceof Error)) return String(reason);
  return reason.cause === undefined
    ? reason.message
    : `${reason.message} ← ${describe(reason.cause)}`;
}
