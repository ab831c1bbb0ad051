import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BACKENDS } from '../../test/services/tier.ts';

/** `HELP` describes them. */
export type Tier = 'check' | 'test' | 'guard' | 'all';

export interface Plan {
  readonly tier: Tier;
  /** Files and folders to run. Empty: everything. */
  readonly filters: readonly string[];
  readonly without: readonly string[];
  /** Chooses the samples of `test` and the second family of `guard`. */
  readonly seed: number;
  readonly part: { readonly nth: number; readonly of: number };
}

const TIERS: readonly Tier[] = ['check', 'test', 'guard', 'all'];

export const HELP = `npm test -- [files and folders] [options]

  npm run check            Format, lint, types, layout, unit tests, contracts in memory; no services
  npm test                 Every promise, store, transport, page and command, with samples of long families
  npm run test:guard       Two minutes of chaos, then long families in full until six minutes have passed; the commit chooses the first
  npm run test:all         Everything in full

Options
  --seed=<number>          Choose the samples (default: from the commit)
  --without=<backends>     Leave out backends: ${BACKENDS.join(', ')}
  --part=<n>/<of>          Run the nth part of the files, such as 1/3
  --tier=<tier>            ${TIERS.join(', ')} (default test)`;

/** Returns undefined for `--help`. */
export function parseCommandLine(args: readonly string[]): Plan | undefined {
  const { values, positionals } = parsed(args);
  if (values.help) return undefined;
  const tier = oneOf('--tier', values.tier, TIERS) as Tier;
  const named = values.without.flatMap((names) => names.split(','));
  for (const name of named) oneOf('--without', name, BACKENDS);
  return {
    tier,
    filters: positionals,
    without: tier === 'check' ? BACKENDS : [...new Set(named)],
    seed: values.seed === undefined ? seedOfCommit() : integerOption('--seed', values.seed),
    part: parsePart(values.part),
  };
}

const OPTIONS = {
  tier: { type: 'string', default: 'test' },
  without: { type: 'string', multiple: true, default: [] as string[] },
  seed: { type: 'string' },
  part: { type: 'string', default: '1/1' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options: OPTIONS });
  } catch (error) {
    throw new Error(`${(error as Error).message}\n\n${HELP}`);
  }
}

function oneOf(flag: string, value: string, known: readonly string[]): string {
  if (known.includes(value)) return value;
  throw new Error(
    `${flag}=${value} is not valid, so no test ran. Use one of: ${known.join(', ')}.`,
  );
}

function integerOption(flag: string, value: string): number {
  const number = Number(value);
  if (/^\d+$/.test(value) && Number.isSafeInteger(number)) return number;
  throw new Error(`${flag}=${value} is not a whole number, so no test ran.`);
}

function parsePart(value: string): Plan['part'] {
  const [nth = 0, of = 0, ...more] = value.split('/').map(Number);
  if (more.length === 0 && Number.isInteger(of) && Number.isInteger(nth) && nth >= 1 && nth <= of) {
    return { nth, of };
  }
  throw new Error(`--part=${value} is not valid, so no test ran. Write it as 1/3, 2/3 or 3/3.`);
}

/** A commit has the same samples on every machine. */
function seedOfCommit(): number {
  try {
    const cwd = join(import.meta.dirname, '../..');
    const stdio = ['ignore', 'pipe', 'ignore'] as const;
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd, stdio: [...stdio] });
    return Number.parseInt(commit.toString('utf8').slice(0, 8), 16);
  } catch {
    // An unpacked archive has no history.
    return 1;
  }
}
