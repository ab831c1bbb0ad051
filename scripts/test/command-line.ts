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

export function parseCommandLine(args: readonly string[]): Plan {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      without: { type: 'string', multiple: true, default: [] },
      long: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
    },
  });
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
