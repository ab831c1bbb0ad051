import { nearestName } from '../src/support/options.ts';
import { type Plan, STORE_KINDS, type StoreKind, type Suite } from './suite.ts';

export interface Command {
  readonly suite: Suite;
  readonly quick: boolean;
  readonly json: boolean;
  readonly stores: readonly StoreKind[];
  readonly only: string;
  readonly part: Plan['part'];
  readonly rounds: number | undefined;
  readonly sizeMax: number;
  readonly spikes: string | undefined;
}

/** A mistake on the command line. The message names the possible values. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const WITH_VALUE = ['--store', '--case', '--part', '--rounds', '--size-max', '--spikes'] as const;
const FLAGS = ['--quick', '--json', ...WITH_VALUE] as const;

/** The default of `--spikes`. */
const SPIKES_VARIABLE = 'HOLDFAST_SPIKES';

/** Returns undefined if no suite is named. */
export function parseCommandLine(
  args: readonly string[],
  suites: readonly Suite[],
): Command | undefined {
  const names = args.filter((arg) => !arg.startsWith('-'));
  const flags = new Map(args.filter((arg) => arg.startsWith('-')).map(parseFlag));
  const [name, ...more] = names;
  if (name === undefined) return undefined;
  if (more.length > 0)
    throw new UsageError(`Name one suite; got ${names.join(', ')}. Nothing was measured.`);
  const suite = suites.find((each) => each.name === name);
  if (suite === undefined) {
    throw unknown('suite', name, [...suites.map((each) => each.name)]);
  }
  return {
    suite,
    quick: flags.has('--quick'),
    json: flags.has('--json'),
    stores: parseStores(flags.get('--store')),
    only: flags.get('--case') ?? '',
    part: parsePart(flags.get('--part') ?? '1/1'),
    rounds: parseCount('--rounds', flags.get('--rounds')),
    sizeMax: parseCount('--size-max', flags.get('--size-max')) ?? Number.POSITIVE_INFINITY,
    spikes: flags.get('--spikes') ?? process.env[SPIKES_VARIABLE],
  };
}

export function usage(suites: readonly Suite[]): string {
  const width = Math.max(...suites.map((suite) => suite.name.length));
  return [
    'Usage: npm run bench -- <suite> [options]',
    '',
    'Suites:',
    ...suites.map((suite) => `  ${suite.name.padEnd(width)}  ${suite.summary}`),
    '',
    'Options:',
    '  --quick            Run short rounds, for a first impression; full rounds are for decisions',
    '  --json             Print one JSON object per line instead of tables',
    `  --store=<stores>   Measure these stores: ${STORE_KINDS.join(', ')} (default all)`,
    '  --case=<text>      Run only cases whose name contains the text',
    '  --part=<n>/<of>    Run the nth part of the attacks of tenants, such as 1/4',
    '  --rounds=<n>       Rounds of each case of executions and tenants, and of each size of growth',
    '  --size-max=<n>     Leave out the sizes of growth above this one, and limit the',
    '                     executions of console to it',
    `  --spikes=<folder>  Scripts that executions compares with (default ${SPIKES_VARIABLE}, then`,
    '                     ../shared/spikes; without them, it uses its own floors)',
  ].join('\n');
}

function parseFlag(arg: string): [string, string] {
  const [flag = '', ...rest] = arg.split('=');
  if (!(FLAGS as readonly string[]).includes(flag)) throw unknown('flag', flag, FLAGS);
  const takesValue = (WITH_VALUE as readonly string[]).includes(flag);
  if (takesValue !== rest.length > 0) {
    throw new UsageError(
      takesValue ? `${flag} requires a value: ${flag}=…` : `${flag} takes no value.`,
    );
  }
  return [flag, rest.join('=')];
}

function parseStores(value: string | undefined): readonly StoreKind[] {
  const named = value?.split(',') ?? STORE_KINDS;
  const wrong = named.find((name) => !(STORE_KINDS as readonly string[]).includes(name));
  if (wrong !== undefined) throw unknown('store', wrong, STORE_KINDS);
  return STORE_KINDS.filter((kind) => named.includes(kind));
}

function parsePart(value: string): Plan['part'] {
  const [nth, of] = (/^(\d+)\/(\d+)$/.exec(value)?.slice(1) ?? []).map(Number);
  if (nth !== undefined && of !== undefined && 0 < nth && nth <= of) return { nth, of };
  throw new UsageError(`--part=${value} is not valid. Write it as 1/3, 2/3 or 3/3.`);
}

function parseCount(flag: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const count = Number(value);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw new UsageError(`${flag}=${value} is not a number above 0. Nothing was measured.`);
}

function unknown(what: string, written: string, known: readonly string[]): UsageError {
  const nearest = nearestName(written, known);
  const hint = nearest === undefined ? '' : ` Did you mean "${nearest}"?`;
  return new UsageError(`Unknown ${what} "${written}".${hint} Use one of: ${known.join(', ')}.`);
}
