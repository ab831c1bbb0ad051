// Renders the reference of the command line from the list of commands.

import type { CommandEntry, CommandSpec, Flag } from '../../src/cli/command.ts';
import { COMMAND_GROUPS } from '../../src/cli/commands.ts';
import { flagHelp, flagText } from '../../src/cli/help.ts';
import { SETTINGS } from '../../src/server/config.ts';
import { codeBlock, pageText, plain, tableOf, wrapped } from './markdown.ts';

const INTRODUCTION = `The package installs one command, \`holdfast\`. \`npx holdfast help <command>\` prints the same
text as this page. Every command takes \`--help\`.

Commands that call a coordinator read its address from \`--url\` or \`HOLDFAST_URL\`, the access key from \`--access-key\`
or \`HOLDFAST_KEY\`, and the project from \`--project\` or \`HOLDFAST_PROJECT\`. With \`--json\`, a command prints one JSON
object per line.

An argument that takes a value reads JSON. \`@file\` reads the value from a file, and \`-\` reads it from stdin.

The [error reference](errors.md#exit-codes) lists the exit codes.`;

/** Types of values, by the placeholder of a flag. */
const TYPES: Readonly<Record<string, string>> = {
  path: 'path',
  url: 'URL',
  n: 'whole number',
  ms: 'milliseconds',
  days: 'days',
  bytes: 'bytes',
  'a,b': 'list with commas',
  json: 'JSON',
  duration: 'duration such as `90d`, `12h`, `30m` or `45s`',
  'status=duration,…': 'list of status and duration',
  'name=n,…': 'list of name and number',
  'url|path': 'URL or path',
};

export async function cliPage(): Promise<string> {
  const groups = await Promise.all(
    Object.entries(COMMAND_GROUPS).map(async ([title, commands]) => [
      `## ${title}`,
      ...(await Promise.all(commands.map(commandText))),
    ]),
  );
  return pageText({ title: 'Command line', order: 300 }, 'src/cli', [
    '# Command line',
    wrapped(INTRODUCTION),
    ...groups.flat(),
  ]);
}

async function commandText(entry: CommandEntry): Promise<string> {
  const spec = await entry.load();
  return [
    `### \`holdfast ${entry.name}\``,
    `${plain(entry.summary)}.`,
    codeBlock('text', spec.usage),
    ...flagTable(spec, entry.name),
    codeBlock('sh', entry.examples.join('\n')),
    ...exitCodeTable(spec),
  ].join('\n\n');
}

function exitCodeTable({ exitCodes = {} }: CommandSpec): readonly string[] {
  const rows = Object.entries(exitCodes);
  return rows.length === 0 ? [] : [tableOf([['Exit code', 'Meaning'], ...rows])];
}

/** Commands other than `serve` that take all settings would repeat the same long list. */
const SETTINGS_MAX = 20;

function flagTable({ flags }: CommandSpec, command: string): readonly string[] {
  const isSetting = (name: string): boolean => SETTINGS.some(({ flag }) => flag === name);
  const names = Object.keys(flags);
  const isLong = command !== 'serve' && names.filter(isSetting).length > SETTINGS_MAX;
  const shown = names.filter((name) => !isLong || !isSetting(name));
  const rows = shown.map((name) => flagRow(name, flags[name] ?? { help: '' }));
  return [
    ...(rows.length === 0 ? [] : [tableOf([['Flag', 'Type', 'Default', 'Description'], ...rows])]),
    ...(isLong
      ? ['It also takes each [setting](configuration.md) as a flag, as `holdfast serve` does.']
      : []),
  ];
}

function flagRow(name: string, flag: Flag): readonly string[] {
  const { text, usual } = describedFlag(flagHelp(flag));
  return [`\`${flagText(name, flag)}\``, typeOf(flag), usual, text];
}

function typeOf({ value }: Flag): string {
  if (value === undefined) return 'switch';
  const known = TYPES[value];
  if (known !== undefined) return known;
  return value.includes('|') ? 'choice' : 'text';
}

/** Separates the description of a flag from its default and its environment variable. */
export function describedFlag(help: string): {
  readonly text: string;
  readonly usual: string;
  readonly variable: string | undefined;
} {
  const [, rest = help, variable] = /^(.*) \[(HOLDFAST_\w+)\]$/.exec(help) ?? [];
  const [, text = rest, usual] = /^(.*?) \((required|default [^)]*)\)$/.exec(rest) ?? [];
  return {
    text: plain(variable === undefined ? text : `${text} (\`${variable}\`)`),
    usual: usual === undefined ? '' : plain(usual.replace(/^default /, '')),
    variable,
  };
}
