// Renders the reference of a coordinator's settings from their schema.

import type { TSchema } from 'typebox';
import { SETTINGS, type SettingName } from '../../src/server/config.ts';
import { describedFlag } from './cli.ts';
import { codeBlock, pageText, plain, tableOf, wrapped } from './markdown.ts';

const INTRODUCTION = `\`holdfast serve\` reads each setting from three places. A flag wins over an environment variable, and
a variable wins over the configuration file. \`holdfast serve --print-config\` prints each value and its source, without
secrets.

The file is \`holdfast.config.json\` in the working directory, or the one that \`--config\` or \`HOLDFAST_CONFIG\` names. Paths
in it are relative to the file. A name that is not a setting is an error, in the file and in the environment.`;

const EXAMPLE = {
  store: 'postgres://localhost/holdfast',
  host: '0.0.0.0',
  limits: { bodyBytesMax: 8_388_608 },
  retention: { completedDays: 30 },
};

const CLIENT_VARIABLES: readonly (readonly string[])[] = [
  ['Variable', 'Description'],
  ['`HOLDFAST_URL`', 'Address of the coordinator, for commands that call one'],
  ['`HOLDFAST_KEY`', 'Access key of these commands'],
  ['`HOLDFAST_PROJECT`', 'Project of these commands'],
  ['`HOLDFAST_CONFIG`', 'Path of the configuration file'],
];

export function configurationPage(): string {
  const groups = Map.groupBy(SETTINGS, ({ name }) =>
    name.includes('.') ? (name.split('.')[0] ?? '') : '',
  );
  const tables = [...groups].flatMap(([group, settings]) => [
    group === '' ? '## General' : `## \`${group}\``,
    tableOf([
      ['File entry', 'Flag and variable', 'Value', 'Default', 'Description'],
      ...settings.map(rowOf),
    ]),
  ]);
  return pageText({ title: 'Configuration', order: 400 }, 'src/server/config-schema.ts', [
    '# Configuration',
    wrapped(INTRODUCTION),
    codeBlock('json', JSON.stringify(EXAMPLE, undefined, 2)),
    ...tables,
    '## Variables of the command line',
    tableOf(CLIENT_VARIABLES),
  ]);
}

function rowOf({ name, flag, variable, value, help, schema }: SettingName): readonly string[] {
  const { text, usual } = describedFlag(help);
  return [`\`${name}\``, `\`--${flag}\`<br>\`${variable}\``, valueText(value, schema), usual, text];
}

function valueText(placeholder: string, schema: TSchema): string {
  const { minimum, maximum } = schema as { readonly minimum?: number; readonly maximum?: number };
  const range = minimum === undefined ? '' : `, ${minimum} to ${maximum}`;
  const choices = placeholder.split('|');
  const shown =
    choices.length > 1
      ? choices.map((each) => (KINDS.has(each) ? each : `\`${each}\``)).join(', ')
      : placeholder;
  return plain(`${NAMES[placeholder] ?? shown}${range}`);
}

/** Words in a placeholder that stand for a value. */
const KINDS: ReadonlySet<string> = new Set(['url', 'path', 'address', 'addresses']);

const NAMES: Readonly<Record<string, string>> = {
  n: 'number',
  'a,b': 'list',
  json: 'list of objects',
};
