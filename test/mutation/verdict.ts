// The verdict on a mutant, from a separate process.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { ContractName, Mutant, MutatedStore } from './mutants.ts';

export type Verdict =
  | { readonly kind: 'killed'; readonly by: string; readonly message: string }
  | { readonly kind: 'survived'; readonly cases: number }
  /** The mutant does not even run, so its rejection proves nothing. */
  | { readonly kind: 'broken'; readonly message: string };

/** The case that killed each mutant the last time, as a hint where to start. */
const KILLERS_FILE = join(import.meta.dirname, 'killers.json');

export type Killers = Readonly<Record<string, string>>;

export function readKillers(): Killers {
  return JSON.parse(readFileSync(KILLERS_FILE, 'utf8')) as Killers;
}

export function writeKillers(killers: Killers): void {
  const sorted = Object.fromEntries(Object.entries(killers).sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(KILLERS_FILE, `${JSON.stringify(sorted, null, 2)}\n`);
}

/** `postgresUrl` names a server; each child creates its own database. */
export async function judge(
  mutant: Mutant,
  killers: Killers,
  postgresUrl: string | undefined,
): Promise<Verdict> {
  const known = killers[mutant.id];
  const hook = join(import.meta.dirname, 'load-mutant.ts');
  return runCases(['--import', hook], {
    HOLDFAST_MUTATED_STORE: mutant.store,
    HOLDFAST_MUTATED_CONTRACT: mutant.contract,
    HOLDFAST_MUTANT: JSON.stringify(mutant),
    HOLDFAST_FIRST_CASES: JSON.stringify(known === undefined ? [] : [known]),
    ...(postgresUrl === undefined ? {} : { HOLDFAST_TEST_POSTGRES_URL: postgresUrl }),
  });
}

/** The same cases without a mutation: a case that fails here has not killed anything. */
export async function judgeOriginal(
  original: { readonly store: MutatedStore; readonly contract: ContractName },
  titles: readonly string[],
  postgresUrl: string | undefined,
): Promise<Verdict> {
  return runCases([], {
    HOLDFAST_MUTATED_STORE: original.store,
    HOLDFAST_MUTATED_CONTRACT: original.contract,
    HOLDFAST_FIRST_CASES: JSON.stringify(titles),
    ...(postgresUrl === undefined ? {} : { HOLDFAST_TEST_POSTGRES_URL: postgresUrl }),
  });
}

async function runCases(flags: readonly string[], env: NodeJS.ProcessEnv): Promise<Verdict> {
  const child = spawn(process.execPath, [...flags, join(import.meta.dirname, 'run-cases.ts')], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, errors] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  const last = out.trimEnd().split('\n').at(-1) ?? '';
  if (!last.startsWith('{')) return { kind: 'broken', message: errors.slice(0, 2_000) };
  return JSON.parse(last) as Verdict;
}
