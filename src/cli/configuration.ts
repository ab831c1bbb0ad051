// Reads the settings of `serve`, `migrate` and `doctor` from a file, the environment and flags.

import { readFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { storePlace } from '../embedded/open-store.ts';
import {
  type Configured,
  configFrom,
  environmentSources,
  fileSource,
  flagSources,
  hidden,
  SETTINGS,
  type Source,
} from '../server/config.ts';
import type { ConfiguredEndpoint } from '../server/config-schema.ts';
import { environmentWith } from '../support/environment.ts';
import { InvalidInput } from '../support/fault.ts';
import { shown, wordsIn } from '../support/options.ts';
import type { Flag, Typed } from './command.ts';
import { print, printLine, table } from './screen.ts';

const DEFAULT_FILE = 'holdfast.config.json';

/**
 * The flags of all settings, or of those that `isWanted` selects. Settings in `required` have no
 * default in this command.
 */
export function configFlags(
  isWanted: (name: string) => boolean = () => true,
  required: readonly string[] = [],
): Readonly<Record<string, Flag>> {
  const settings = SETTINGS.filter(({ name }) => isWanted(name)).map(
    ({ name, flag, variable, value, help, description }): readonly [string, Flag] =>
      required.includes(name)
        ? [flag, { value, help: description, required: true, variable }]
        : [flag, { value, help, variable }],
  );
  const config: Flag = {
    value: 'path',
    help: `Configuration file (default ${DEFAULT_FILE}, if it exists)`,
    variable: 'HOLDFAST_CONFIG',
  };
  return { config, ...Object.fromEntries(settings) };
}

export async function configuredBy(typed: Typed): Promise<Configured> {
  return configFrom(await sourcesBy(typed));
}

/** Later sources win. */
export async function sourcesBy(typed: Typed): Promise<readonly Source[]> {
  const variables = environmentWith('HOLDFAST_');
  const flags = SETTINGS.flatMap(({ flag }) => {
    const text = typed.text(flag);
    return text === undefined ? [] : [[flag, text] as const];
  });
  return [
    ...(await fileSources(typed.text('config') ?? variables['HOLDFAST_CONFIG'])),
    ...environmentSources(variables),
    ...flagSources(Object.fromEntries(flags)),
  ];
}

/** An explicitly named file must exist. */
async function fileSources(named: string | undefined): Promise<readonly Source[]> {
  const file = named ?? DEFAULT_FILE;
  const text = await readFile(file, 'utf8').catch((fault: NodeJS.ErrnoException) => {
    if (named === undefined && fault.code === 'ENOENT') return undefined;
    throw fault;
  });
  if (text === undefined) return [];
  const { place, values } = fileSource(file, parsed(file, text));
  return [{ place, values: withPathsFrom(dirname(resolve(file)), values) }];
}

function parsed(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (fault) {
    // Do not show the parser's message: it quotes the text, which may be a secret. The position is
    // enough.
    const at = /\(line \d+ column \d+\)/.exec((fault as Error).message)?.[0];
    throw new InvalidInput(`${file} is not valid JSON${at === undefined ? '' : ` ${at}`}.`);
  }
}

const PATHS: readonly string[] = wordsIn(
  'store tls.keyFile tls.certFile archive.folder sqs.keysFile push.signingFile links.signingFile channels.signingFile',
);

/** Paths in a file are relative to the file, not to the working directory. */
function withPathsFrom(folder: string, values: Source['values']): Source['values'] {
  const moved = PATHS.flatMap((name) => {
    const path = values[name];
    const isFile = typeof path === 'string' && storePlace(path).kind === 'sqlite';
    return isFile && !isAbsolute(path) ? [[name, join(folder, path)] as const] : [];
  });
  const endpoints = values[ENDPOINTS];
  const own = Array.isArray(endpoints)
    ? { [ENDPOINTS]: endpoints.map((each) => withKeysFrom(folder, each)) }
    : {};
  return { ...values, ...own, ...Object.fromEntries(moved) };
}

const ENDPOINTS = 'push.endpoints';

function withKeysFrom(folder: string, endpoint: ConfiguredEndpoint): ConfiguredEndpoint {
  const { signingFile } = endpoint;
  if (typeof signingFile !== 'string') return endpoint;
  return { ...endpoint, signingFile: resolve(folder, signingFile) };
}

/** Prints each value and its source; hides secrets. */
export function showConfig({ settings }: Configured, isJson: boolean): void {
  const shownSettings = settings.map((each) => ({ ...each, value: hidden(each.name, each.value) }));
  if (isJson) for (const setting of shownSettings) printLine(setting);
  else {
    const rows = shownSettings.map(({ name, value, from }) => [
      name,
      typeof value === 'string' ? value : shown(value).replace(/^number /, ''),
      from,
    ]);
    print(table([['setting', 'value', 'from'], ...rows]));
  }
}
