// holdfast releases: what was built, where new executions go, and changing that.

import type { HoldfastClient } from '../../client/client.ts';
import type { ComparedMessage } from '../../protocol/messages/releases.ts';
import { contractVersion } from '../../release/contract.ts';
import {
  type CommandSpec,
  type ExitCode,
  type Typed,
  UsageProblem,
  unknown,
  wholeText,
  wordsOf,
} from '../command.ts';
import { readContracts } from '../contract.ts';
import { print, printLine, printTable } from '../screen.ts';
import { CONNECTION_FLAGS, clientFor } from './connection.ts';
import { printRows } from './pages.ts';
import type { Row } from './show.ts';

const USAGE =
  'holdfast releases lines · list|line|log|promote|roll-back <pipeline> · activate|share|retire|preflight|compare <pipeline> <name> · register <pipeline> <name> · move <execution> <name>';

export const releasesCommand: CommandSpec = {
  usage: USAGE,
  choices: [
    ...['lines', 'list', 'line', 'log', 'register', 'compare', 'preflight', 'activate'],
    ...['share', 'promote', 'roll-back', 'retire', 'move'],
  ],
  flags: {
    file: { type: 'string', what: 'register: the contract; holdfast.contract.json unless said' },
    artifact: { type: 'string', what: 'register: what was built, such as an image' },
    digest: { type: 'string', what: 'register: of its bytes' },
    percent: { type: 'string', what: 'share: of new executions; 0 takes it back' },
    against: { type: 'string', what: 'compare: another release than the active one' },
    sample: { type: 'string', what: 'preflight: so many open executions; all unless said' },
    from: { type: 'string', what: 'move: only from this release' },
    expected: { type: 'string', what: 'the version of the line that was looked at' },
    force: { type: 'boolean', what: 'although it breaks something; needs --reason' },
    reason: { type: 'string', what: 'for the log' },
    json: { type: 'boolean', what: 'for programs' },
    ...CONNECTION_FLAGS,
  },
  execute,
};

type Act = (client: HoldfastClient, typed: Typed) => Promise<ExitCode>;

const ACTS: Readonly<Record<string, Act>> = {
  lines: async (client, typed) =>
    listed(typed, client.releases.lines({ limit: 1_000 }), [
      ...['pipeline', 'version', 'active', 'previous', 'candidate', 'percent'],
    ]),
  list: (client, typed) =>
    listed(typed, client.releases.list(pipelineOf(typed)), [
      ...[
        'name',
        'state',
        'pinned',
        'artifact',
        'digest',
        'contractVersion',
        'createdAt',
        'createdBy',
      ],
    ]),
  log: (client, typed) =>
    listed(typed, client.releases.log(pipelineOf(typed)), [
      ...['version', 'at', 'act', 'name', 'after.active', 'after.candidate', 'after.percent'],
      ...['actor', 'forced', 'reason'],
    ]),
  line: async (client, typed) => told(typed, await client.releases.line(pipelineOf(typed))),
  register,
  compare,
  preflight,
  move,
  activate: changes,
  share: changes,
  promote: changes,
  'roll-back': changes,
  retire: changes,
};

async function execute(typed: Typed): Promise<ExitCode> {
  const [name] = typed.words;
  if (name === undefined) throw new UsageProblem(`What about them? ${USAGE}`);
  const act = Object.hasOwn(ACTS, name) ? ACTS[name] : undefined;
  if (act === undefined) throw unknown('act', name, Object.keys(ACTS));
  return act(await clientFor(typed), typed);
}

function pipelineOf(typed: Typed): string {
  const [, pipeline] = wordsOf(releasesCommand, typed, ['act', 'pipeline']);
  return pipeline;
}

async function listed(
  typed: Typed,
  asked: Promise<{ readonly items: readonly object[] }>,
  columns: readonly string[],
): Promise<ExitCode> {
  const { items } = await asked;
  if (typed.isSet('json')) for (const item of items) printLine(item);
  else printRows(items as readonly Row[], columns);
  return 0;
}

function told(typed: Typed, answer: object): ExitCode {
  if (typed.isSet('json')) printLine(answer);
  else printTable(Object.entries(answer).map(([name, value]) => [name, textOf(value)]));
  return 0;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

async function register(client: HoldfastClient, typed: Typed): Promise<ExitCode> {
  const [, pipeline, name] = wordsOf(releasesCommand, typed, ['act', 'pipeline', 'release']);
  const file = typed.text('file') ?? 'holdfast.contract.json';
  const contract = (await readContracts(file)).find((each) => each.pipeline === pipeline);
  if (contract === undefined) {
    throw new UsageProblem(`${file} has no contract of "${pipeline}". Build it again.`);
  }
  const [artifact, digest] = ['artifact', 'digest'].map((flag) => {
    const text = typed.text(flag);
    if (text === undefined) throw new UsageProblem(`Which ${flag}? Say --${flag} …`);
    return text;
  }) as [string, string];
  const body = { name, artifact, digest, contract: { ...contract } };
  const { existing } = await client.releases.register(pipeline, body);
  return told(typed, { pipeline, name, contract: contractVersion(contract), existing });
}

/** 1 when somebody who keeps to the other contract would be broken. */
async function compare(client: HoldfastClient, typed: Typed): Promise<ExitCode> {
  const [, pipeline, name] = wordsOf(releasesCommand, typed, ['act', 'pipeline', 'release']);
  const against = typed.text('against');
  const found = await client.releases.compare(pipeline, name, {
    ...(against === undefined ? {} : { against }),
  });
  if (typed.isSet('json')) printLine(found);
  else {
    printChanges(found.changes);
    const count = found.changes.length;
    const to = found.against === undefined ? 'nothing: none is active' : `"${found.against}"`;
    print(`${count === 1 ? '1 change' : `${count} changes`}, compared with ${to}.`);
  }
  return found.breaking ? 1 : 0;
}

function printChanges(changes: ComparedMessage['changes']): void {
  for (const { part, path, breaking, what } of changes) {
    print(`${breaking ? 'BREAKS' : 'ok    '}  ${part}${path}: ${what}`);
  }
}

/** 1 when it would break something. */
async function preflight(client: HoldfastClient, typed: Typed): Promise<ExitCode> {
  const [, pipeline, name] = wordsOf(releasesCommand, typed, ['act', 'pipeline', 'release']);
  const sample = wholeText('sample', typed.text('sample'));
  const found = await client.releases.preflight(pipeline, name, {
    ...(sample === undefined ? {} : { sample }),
  });
  if (typed.isSet('json')) printLine(found);
  else {
    printChanges(found.changes);
    for (const { execution, why } of found.broken) print(`BREAKS  ${execution}: ${why}`);
    const { brokenCount, looked, open } = found;
    print(`${brokenCount} of ${looked} replayed would break; ${open} are open.`);
  }
  return found.breaking ? 1 : 0;
}

async function changes(client: HoldfastClient, typed: Typed): Promise<ExitCode> {
  const [act = ''] = typed.words;
  const isNamed = act !== 'promote' && act !== 'roll-back';
  const names = isNamed
    ? (['act', 'pipeline', 'release'] as const)
    : (['act', 'pipeline'] as const);
  const [, pipeline, name] = wordsOf(releasesCommand, typed, names) as readonly [
    string,
    string,
    string?,
  ];
  const percent = wholeText('percent', typed.text('percent'));
  if (act === 'share' && percent === undefined) {
    throw new UsageProblem('How much of it? Say --percent 10, or 0 to take it back.');
  }
  const expected = wholeText('expected', typed.text('expected'));
  const answer = await client.releases.change(pipeline, {
    act: (act === 'share' ? 'percentage' : act) as 'activate',
    ...(name === undefined ? {} : { name }),
    ...(percent === undefined ? {} : { percent }),
    ...(expected === undefined ? {} : { expected }),
    ...(typed.isSet('force') ? { force: true } : {}),
    ...reasonOf(typed),
  });
  return told(typed, { kind: answer.kind, ...answer.line });
}

async function move(client: HoldfastClient, typed: Typed): Promise<ExitCode> {
  const [, id, to] = wordsOf(releasesCommand, typed, ['act', 'execution', 'release']);
  const from = typed.text('from');
  const force = typed.isSet('force') ? { force: true } : {};
  const body = { to, ...(from === undefined ? {} : { from }), ...force, ...reasonOf(typed) };
  return told(typed, await client.releases.move(id, body));
}

function reasonOf(typed: Typed): { readonly reason?: string } {
  const reason = typed.text('reason');
  return reason === undefined ? {} : { reason };
}
