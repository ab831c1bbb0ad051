import { parseArgs } from 'node:util';
import { BACKENDS } from '../../test/services/excluded.ts';

export interface Plan {
  /** Files and folders to run; empty means everything. */
  readonly filters: readonly string[];
  /** Backends left out by name. */
  readonly without: readonly string[];
  readonly long: boolean;
  readonly quick: boolean;
}

export const HELP = `npm test -- [files and folders] [--without=${BACKENDS.join(',')}] [--long] [--quick]

  npm test                              everything
  npm test -- test/tidy src/lease       only the tests in these files and folders
  npm test -- --without=postgres        leaves a backend out, by name
  npm run test:long                     also the cases that take minutes (--long)
  npm run check:quick                   no services: lint, types, tidy, unit, contract (--quick)`;

/** Undefined when help was asked for. */
export function parseCommandLine(args: readonly string[]): Plan | undefined {
  const { values, positionals } = parsed(args);
  if (values.help) return undefined;
  const named = values.without.flatMap((names) => names.split(','));
  for (const name of named) {
    if (!BACKENDS.includes(name)) {
      throw new Error(
        `--without=${name} names no backend, so nothing was run. Known: ${BACKENDS.join(', ')}.`,
      );
    }
  }
  const without = values.quick ? BACKENDS : [...new Set(named)];
  return { filters: positionals, without, long: values.long, quick: values.quick };
}

const OPTIONS = {
  without: { type: 'string', multiple: true, default: [] as string[] },
  long: { type: 'boolean', default: false },
  quick: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options: OPTIONS });
  } catch (error) {
    throw new Error(`${(error as Error).message}\n\n${HELP}`);
  }
}
