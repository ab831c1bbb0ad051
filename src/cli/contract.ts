// `holdfast contract` builds the contracts of pipelines from their code, keeps them in a file, and
// compares them.

import { readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { contractOf, pipelinesIn } from '../features/releases/contract-api.ts';
import { diffContracts, isBreaking } from '../features/releases/contract-decide.ts';
import {
  type Contract,
  contractVersion,
  parseContract,
  readableJson,
} from '../features/releases/contract-model.ts';
import { thrownText } from '../support/options.ts';
import {
  type CommandSpec,
  type ExitCode,
  type Typed,
  UsageProblem,
  unknown,
  wordsOf,
} from './command.ts';
import { oldNode } from './node-version.ts';
import { print, printLine, printTable } from './screen.ts';

const FILE = 'holdfast.contract.json';

export const contractCommand: CommandSpec = {
  usage: [
    `holdfast contract build <module> [--file ${FILE}]`,
    `holdfast contract check <module> [--file ${FILE}] [--json]`,
    'holdfast contract diff <old file> <new file> [--json]',
  ].join('\n'),
  flags: {
    file: { value: 'path', help: `File that holds the contract (default ${FILE})` },
    json: { help: 'Print JSON, one object per line' },
  },
  choices: ['build', 'check', 'diff'],
  execute,
};

const COMMANDS: Readonly<Record<string, (typed: Typed) => Promise<ExitCode>>> = {
  build,
  check,
  diff,
};

async function execute(typed: Typed): Promise<ExitCode> {
  const [name] = typed.words;
  if (name === undefined)
    throw new UsageProblem(`build, check or diff is required. Usage: ${contractCommand.usage}`);
  const run = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (run === undefined) throw unknown('command', name, Object.keys(COMMANDS));
  return run(typed);
}

async function build(typed: Typed): Promise<ExitCode> {
  const [, module] = wordsOf(contractCommand, typed, ['command', 'module']);
  const file = fileOf(typed);
  const contracts = await contractsIn(module);
  await writeFile(file, textOf(contracts));
  for (const contract of contracts) {
    const version = contractVersion(contract);
    if (typed.isSet('json')) printLine({ pipeline: contract.pipeline, version, file });
    else print(`${file}: ${contract.pipeline} ${version}`);
  }
  return 0;
}

/** Exits with 1 if file and code differ. */
async function check(typed: Typed): Promise<ExitCode> {
  const [, module] = wordsOf(contractCommand, typed, ['command', 'module']);
  const file = fileOf(typed);
  const [kept, built] = await Promise.all([readContracts(file), contractsIn(module)]);
  const isSame = printChanges(typed, [kept, built]) === 0;
  if (!typed.isSet('json')) {
    print(
      isSame
        ? `${file} matches the code.`
        : `\n${file} does not match the code. If you meant the change, run: holdfast contract build ${module} --file ${file}`,
    );
  }
  return isSame ? 0 : 1;
}

/** Exits with 1 if a change breaks a party. */
async function diff(typed: Typed): Promise<ExitCode> {
  const [, before, after] = wordsOf(contractCommand, typed, ['command', 'file', 'other file']);
  const sides = await Promise.all([readContracts(before), readContracts(after)]);
  const changes = printChanges(typed, sides);
  if (changes === 0 && !typed.isSet('json')) print('The contracts are the same.');
  return breaks(sides) ? 1 : 0;
}

type Sides = readonly [readonly Contract[], readonly Contract[]];

interface ContractChange {
  readonly pipeline: string;
  readonly breaking: boolean;
  readonly part: string;
  readonly path: string;
  readonly what: string;
}

function changesOf([before, after]: Sides): readonly ContractChange[] {
  const names = new Set([...before, ...after].map(({ pipeline }) => pipeline));
  return [...names].sort().flatMap((pipeline): readonly ContractChange[] => {
    const old = before.find((each) => each.pipeline === pipeline);
    const next = after.find((each) => each.pipeline === pipeline);
    const ofPipeline = { pipeline, part: 'pipeline', path: '' };
    if (old === undefined) return [{ ...ofPipeline, breaking: false, what: 'is new' }];
    if (next === undefined) {
      return [
        {
          ...ofPipeline,
          breaking: true,
          what: 'was removed: no worker continues its open executions',
        },
      ];
    }
    return diffContracts(old, next).map((change) => ({ pipeline, ...change }));
  });
}

function breaks(sides: Sides): boolean {
  return isBreaking(changesOf(sides));
}

/** Prints the changes and returns their number. */
function printChanges(typed: Typed, sides: Sides): number {
  const changes = changesOf(sides);
  if (typed.isSet('json')) for (const change of changes) printLine(change);
  else if (changes.length > 0) {
    printTable([
      ['', 'pipeline', 'where', 'what'],
      ...changes.map(({ pipeline, breaking, part, path, what }) => [
        breaking ? 'BREAKS' : 'ok',
        pipeline,
        `${part}${path}`,
        what,
      ]),
    ]);
  }
  return changes.length;
}

function fileOf(typed: Typed): string {
  return typed.text('file') ?? FILE;
}

export async function contractsIn(module: string): Promise<readonly Contract[]> {
  let loaded: object;
  const { href } = pathToFileURL(resolve(module));
  try {
    loaded = (await import(href)) as object;
  } catch (fault) {
    throw new UsageProblem(await notLoaded(module, { href, fault }));
  }
  const pipelines = pipelinesIn(loaded);
  if (pipelines.length > 0) return pipelines.map(contractOf);
  throw new UsageProblem(
    `${module} exports no pipeline. Nothing was written. Export one: export const order = pipeline({ name: 'order', run }).`,
  );
}

async function notLoaded(
  module: string,
  { href, fault }: { readonly href: string; readonly fault: unknown },
): Promise<string> {
  const { code, url } = (fault ?? {}) as { readonly code?: unknown; readonly url?: unknown };
  if (code === 'ERR_MODULE_NOT_FOUND' && url === href) {
    return `${module} does not exist. Nothing was written. Pass the file that exports your pipelines, such as ./order.ts.`;
  }
  const old = code === 'ERR_UNKNOWN_FILE_EXTENSION' ? await oldNode() : undefined;
  return `${module} cannot be loaded: ${old ?? thrownText(fault)} Nothing was written.`;
}

function textOf(contracts: readonly Contract[]): string {
  const listed = contracts.map((contract) => ({ version: contractVersion(contract), ...contract }));
  return readableJson({ contracts: listed });
}

/** A version that does not match its content was edited by hand. */
export async function readContracts(file: string): Promise<readonly Contract[]> {
  const text = await readFile(file, 'utf8').catch((fault: NodeJS.ErrnoException) => {
    throw new UsageProblem(
      `${file} cannot be read (${fault.code}). Build it: holdfast contract build <module> --file ${file}`,
    );
  });
  let parsed: { readonly contracts?: unknown };
  try {
    parsed = JSON.parse(text) as { readonly contracts?: unknown };
  } catch (fault) {
    throw new UsageProblem(
      `${file} is not valid JSON (${thrownText(fault)}). Build it again: holdfast contract build <module> --file ${file}`,
    );
  }
  const { contracts } = parsed ?? {};
  if (!Array.isArray(contracts)) {
    throw new UsageProblem(
      `${file} has no contracts. Build it: holdfast contract build <module> --file ${file}`,
    );
  }
  return contracts.map((given: { readonly version?: unknown }, nth) => {
    const contract = parseContract(`${file}: contract ${nth + 1}`, given);
    if (given.version === contractVersion(contract)) return contract;
    throw new UsageProblem(
      `${file}: the version of "${contract.pipeline}" does not match its content, so the file was edited. Build it again: holdfast contract build <module> --file ${file}`,
    );
  });
}
