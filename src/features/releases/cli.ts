// `holdfast releases` lists builds and rollouts, and changes where new executions go.

import {
  type CommandSpec,
  type ExitCode,
  type Flag,
  integerText,
  requiredText,
  type Typed,
  typedValue,
  UsageProblem,
  unknown,
  wordsOf,
} from '../../cli/command.ts';
import { readContracts } from '../../cli/contract.ts';
import { CONNECTION_FLAGS, clientFor, projectHint } from '../../cli/remote/connection.ts';
import { printRows } from '../../cli/remote/pages.ts';
import type { Row } from '../../cli/remote/show.ts';
import { print, printLine, printProblem, printTable } from '../../cli/screen.ts';
import type { HoldfastClient } from '../../client/client.ts';
import { parseReleaseName } from '../../execution/route.ts';
import { present, wordsIn } from '../../support/options.ts';
import { parseArtifacts } from './artifacts-model.ts';
import { contractVersion } from './contract-model.ts';
import type { ComparedMessage } from './messages.ts';
import { ONLY_ALL, repinAll } from './repin-all-cli.ts';

/** The arguments and the action of a subcommand. */
interface Action {
  /** The words after the subcommand, in order. */
  readonly words: readonly ('pipeline' | 'release' | 'execution')[];
  readonly flags: readonly string[];
  /** Overrides the usage that is built from words and flags. */
  readonly usage?: string;
  perform(client: HoldfastClient, typed: Typed, named: Named): Promise<ExitCode>;
}

/** The typed words; those that the subcommand takes are present. */
interface Named {
  readonly action: string;
  readonly first: string;
  readonly release: string;
  /** The usage of the subcommand. */
  readonly usage: string;
}

const OPERATION_FLAGS = ['expected', 'reason'];
const FORCING = [...OPERATION_FLAGS, 'force'];

const ACTIONS: Readonly<Record<string, Action>> = {
  rollouts: {
    words: [],
    flags: [],
    perform: (client, typed) =>
      listed(typed, client.releases.rollouts({ limit: 1_000 }), {
        columns: ['pipeline', 'version', 'active', 'previous', 'canary', 'percent'],
        none: 'No pipeline has releases yet. Register one: holdfast releases register.',
      }),
  },
  list: {
    words: ['pipeline'],
    flags: [],
    perform: (client, typed, { first }) =>
      listed(typed, client.releases.list(first), {
        columns: wordsIn(
          'name state pinned artifact digest artifacts contractVersion createdAt createdBy',
        ),
        none: `Pipeline "${first}" has no releases yet. Register one: holdfast releases register ${first} <release>.`,
      }),
  },
  rollout: { words: ['pipeline'], flags: [], perform: rollout },
  log: {
    words: ['pipeline'],
    flags: [],
    perform: (client, typed, { first }) =>
      listed(typed, client.releases.log(first), {
        columns: wordsIn(
          'version at action name after.active after.canary after.percent actor forced reason',
        ),
        none: `No operator has changed the rollout of pipeline "${first}".`,
      }),
  },
  register: {
    words: ['pipeline', 'release'],
    flags: ['artifact', 'digest', 'artifacts', 'file'],
    perform: register,
  },
  compare: { words: ['pipeline', 'release'], flags: ['against'], perform: compare },
  preflight: { words: ['pipeline', 'release'], flags: ['sample'], perform: preflight },
  activate: { words: ['pipeline', 'release'], flags: FORCING, perform: changes },
  'set-canary': {
    words: ['pipeline', 'release'],
    flags: ['percent', ...FORCING],
    perform: changes,
  },
  promote: { words: ['pipeline'], flags: FORCING, perform: changes },
  'roll-back': { words: ['pipeline'], flags: OPERATION_FLAGS, perform: changes },
  deactivate: { words: ['pipeline'], flags: OPERATION_FLAGS, perform: changes },
  retire: { words: ['pipeline', 'release'], flags: OPERATION_FLAGS, perform: changes },
  repin: {
    words: ['execution', 'release'],
    flags: ['from', 'force', 'reason', 'all', ...ONLY_ALL],
    usage: [
      'holdfast releases repin <execution> <release> [--from …] [--force] [--reason …]',
      'holdfast releases repin <pipeline> <release> --all (--from … | --unpinned) [--dry-run] [--per-second …] [--reason …]',
    ].join('\n'),
    perform: repin,
  },
};

/** The flags of all subcommands. */
const OWN_FLAGS: Readonly<Record<string, Flag>> = {
  file: {
    value: 'path',
    help: 'register: Contract of the release (default holdfast.contract.json)',
  },
  artifact: {
    value: 'name',
    help: 'register: Artifact of the build, such as an image',
    required: true,
  },
  digest: { value: 'digest', help: 'register: Digest of the artifact', required: true },
  artifacts: {
    value: 'json',
    help: 'register: List of further artifacts, each with name, digest, size, url, mediaType; @file and - work (default none)',
  },
  percent: {
    value: 'n',
    help: 'set-canary: Percentage of new executions, 0 to 99; 0 removes the canary',
    required: true,
  },
  against: {
    value: 'release',
    help: 'compare: Release to compare with (default the active one, or else the last active one)',
  },
  sample: { value: 'n', help: 'preflight: Number of open executions to replay (default all)' },
  from: {
    value: 'release',
    help: 'repin: Repin only executions of this release; --all needs --from or --unpinned (default any)',
  },
  all: { help: 'repin: Repin, as a job, all open executions of the release --from' },
  unpinned: { help: 'repin --all: Repin the executions that are not pinned, instead of --from' },
  'dry-run': { help: 'repin --all: Count the executions and repin none' },
  'per-second': {
    value: 'n',
    help: 'repin --all: Highest rate, in executions per second (default unlimited)',
  },
  expected: {
    value: 'n',
    help: 'Version of the rollout that you looked at; refuse if it has changed (default any)',
  },
  force: { help: 'Continue although a check fails; needs --reason' },
  reason: { value: 'text', help: 'Reason, kept in the log (default none)' },
};

function usageOf(name: string, { words, flags, usage }: Action): string {
  if (usage !== undefined) return usage;
  const taken = flags.map((flag) => {
    const { value, required } = OWN_FLAGS[flag] ?? {};
    const text = value === undefined ? `--${flag}` : `--${flag} …`;
    return required === true ? text : `[${text}]`;
  });
  return ['holdfast releases', name, ...words.map((word) => `<${word}>`), ...taken].join(' ');
}

export const releasesCommand: CommandSpec = {
  usage: Object.entries(ACTIONS)
    .map(([name, action]) => usageOf(name, action))
    .join('\n'),
  choices: Object.keys(ACTIONS),
  flags: { ...OWN_FLAGS, ...CONNECTION_FLAGS },
  execute,
};

async function execute(typed: Typed): Promise<ExitCode> {
  const [name] = typed.words;
  const names = Object.keys(ACTIONS);
  if (name === undefined) {
    throw new UsageProblem(`A subcommand is required. Usage: holdfast releases ${names.join('|')}`);
  }
  const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
  if (action === undefined) throw unknown('action', name, names);
  const usage = usageOf(name, action);
  const [, first = '', release = ''] = wordsOf({ usage }, typed, ['action', ...action.words]);
  if (action.words.includes('release')) parseReleaseName(release);
  refuseFlags(name, action, typed);
  return action.perform(await clientFor(typed), typed, { action: name, first, release, usage });
}

/** Refuses flags of another subcommand, which would have no effect. */
function refuseFlags(name: string, action: Action, typed: Typed): void {
  for (const flag of Object.keys(OWN_FLAGS)) {
    const isTyped = typed.isSet(flag) || typed.text(flag) !== undefined;
    if (!isTyped || action.flags.includes(flag)) continue;
    const owners = Object.keys(ACTIONS).filter((each) => ACTIONS[each]?.flags.includes(flag));
    const names = owners.map((each) => `"${each}"`).join(', ');
    throw new UsageProblem(
      `--${flag} belongs to ${names}, not to "${name}": ${usageOf(name, action)}`,
    );
  }
}

async function listed(
  typed: Typed,
  listed: Promise<{ readonly items: readonly object[] }>,
  { columns, none }: { readonly columns: readonly string[]; readonly none: string },
): Promise<ExitCode> {
  const { items } = await listed;
  if (typed.isSet('json')) for (const item of items) printLine(item);
  else if (items.length > 0) printRows(items.map(forPeople), columns);
  else printProblem([none, (await projectHint(typed)) ?? ''].join(' ').trim());
  return 0;
}

const SHORT = 12;
const PERCENT_MAX = 99;

/** Shortens digests to a recognisable length, and shows operations as they are typed. */
function forPeople(item: object): Row {
  const { digest, artifacts, contractVersion: version, action, ...rest } = item as Row;
  return {
    ...rest,
    ...(typeof digest === 'string' ? { digest: shortened(digest) } : {}),
    ...(Array.isArray(artifacts) ? { artifacts: artifacts.map(({ name }) => name) } : {}),
    ...(typeof version === 'string' ? { contractVersion: shortened(version) } : {}),
    ...(action === undefined ? {} : { action }),
  };
}

function shortened(digest: string): string {
  const from = digest.indexOf(':') + 1;
  return digest.length - from <= SHORT ? digest : `${digest.slice(0, from + SHORT)}…`;
}

async function rollout(client: HoldfastClient, typed: Typed, { first }: Named): Promise<ExitCode> {
  const found = await client.releases.rollout(first);
  if (found.version > 0 || typed.isSet('json')) return printResult(typed, found);
  const hint = await projectHint(typed);
  printProblem(
    `Pipeline "${first}" has no rollout: its new executions are not pinned, and any worker with the pipeline takes them. To start one, run: holdfast releases activate ${first} <release>.${hint === undefined ? '' : ` ${hint}`}`,
  );
  return 0;
}

function printResult(typed: Typed, result: object): ExitCode {
  if (typed.isSet('json')) printLine(result);
  else
    printTable(
      Object.entries(result).map(([name, value]) => [
        name,
        typeof value === 'string' ? value : JSON.stringify(value),
      ]),
    );
  return 0;
}

async function register(
  client: HoldfastClient,
  typed: Typed,
  { first: pipeline, release: name, usage }: Named,
): Promise<ExitCode> {
  const file = typed.text('file') ?? 'holdfast.contract.json';
  const contract = (await readContracts(file)).find((each) => each.pipeline === pipeline);
  if (contract === undefined) {
    throw new UsageProblem(
      `${file} has no contract of "${pipeline}". Build it again: holdfast contract build <module> --file ${file}`,
    );
  }
  const artifact = requiredText({ usage, flags: OWN_FLAGS }, typed, 'artifact');
  const digest = requiredText({ usage, flags: OWN_FLAGS }, typed, 'digest');
  const artifacts = [...parseArtifacts((await typedValue(typed.text('artifacts'))) ?? [])];
  const listed = artifacts.length > 0 ? { artifacts } : {};
  const body = { name, artifact, digest, ...listed, contract: { ...contract } };
  const { existing } = await client.releases.register(pipeline, body);
  return printResult(typed, { pipeline, name, contract: contractVersion(contract), existing });
}

/** Exits with 1 if the change breaks a party that keeps to the other contract. */
async function compare(
  client: HoldfastClient,
  typed: Typed,
  { first: pipeline, release: name }: Named,
): Promise<ExitCode> {
  const against = typed.text('against');
  const found = await client.releases.compare(pipeline, name, {
    ...(against === undefined ? {} : { against }),
  });
  if (typed.isSet('json')) printLine(found);
  else {
    printChanges(found.changes);
    const count = found.changes.length;
    const to =
      found.against === undefined ? 'no release, since none is active' : `"${found.against}"`;
    print(`${count === 1 ? '1 change' : `${count} changes`}, compared with ${to}.`);
  }
  return found.breaking ? 1 : 0;
}

function printChanges(changes: ComparedMessage['changes']): void {
  for (const { part, path, breaking, what } of changes) {
    print(`${breaking ? 'BREAKS' : 'ok    '}  ${part}${path}: ${what}`);
  }
}

/** Exits with 1 if the release would break an execution. */
async function preflight(
  client: HoldfastClient,
  typed: Typed,
  { first: pipeline, release: name }: Named,
): Promise<ExitCode> {
  const sample = integerText('sample', typed.text('sample'), 1);
  const found = await client.releases.preflight(pipeline, name, {
    ...(sample === undefined ? {} : { sample }),
  });
  if (typed.isSet('json')) printLine(found);
  else {
    printChanges(found.changes);
    for (const { execution, why } of found.broken) print(`BREAKS  ${execution}: ${why}`);
    const { brokenCount, replayed, open } = found;
    print(`${brokenCount} of ${replayed} replayed executions would break; ${open} are open.`);
  }
  return found.breaking ? 1 : 0;
}

async function changes(client: HoldfastClient, typed: Typed, named: Named): Promise<ExitCode> {
  const { action, first: pipeline, release: name } = named;
  const percent = action === 'set-canary' ? percentOf(typed, named) : undefined;
  const expected = integerText('expected', typed.text('expected'));
  const result = await client.releases.change(pipeline, {
    action: action as 'activate',
    ...(name === '' ? {} : { name }),
    ...present({ percent, expected }),
    ...(typed.isSet('force') ? { force: true } : {}),
    ...reasonOf(typed),
  });
  return printResult(typed, { kind: result.kind, ...result.rollout });
}

function percentOf(typed: Typed, { first, release, usage }: Named): number {
  const text = requiredText({ usage, flags: OWN_FLAGS }, typed, 'percent');
  const percent = integerText('percent', text) ?? 0;
  if (percent <= PERCENT_MAX) return percent;
  throw new UsageProblem(
    `--percent must be 0 to ${PERCENT_MAX}; got "${percent}". For all executions, run: holdfast releases activate ${first} ${release}`,
  );
}

async function repin(
  client: HoldfastClient,
  typed: Typed,
  { first: id, release: to }: Named,
): Promise<ExitCode> {
  if (typed.isSet('all')) return repinAll(client, typed, { pipeline: id, to });
  const flagOfAll = ONLY_ALL.find((flag) => typed.isSet(flag) || typed.text(flag) !== undefined);
  if (flagOfAll !== undefined) throw new UsageProblem(`--${flagOfAll} belongs to "repin --all".`);
  const from = typed.text('from');
  const force = typed.isSet('force') ? { force: true } : {};
  const body = { to, ...(from === undefined ? {} : { from }), ...force, ...reasonOf(typed) };
  return printResult(typed, await client.releases.repin(id, body));
}

function reasonOf(typed: Typed): { readonly reason?: string } {
  const reason = typed.text('reason');
  return reason === undefined ? {} : { reason };
}
