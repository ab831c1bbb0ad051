// `holdfast help` lists the commands, or describes one.

import type { CommandEntry, CommandSpec, Flag } from './command.ts';
import { table } from './screen.ts';

const EXIT_CODES = [
  'Exit codes:',
  '  0  success',
  '  1  refused, not found, not completed, or problems found',
  '  2  wrong usage, access refused, a limit, a fault, or a coordinator, store or file that cannot be read',
].join('\n');

export function helpText(groups: Readonly<Record<string, readonly CommandEntry[]>>): string {
  const width = Math.max(
    ...Object.values(groups).flatMap((group) => group.map(({ name }) => name.length)),
  );
  const listed = Object.entries(groups).map(([title, commands]) => {
    const rows = commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
    return [`${title}:`, ...rows].join('\n');
  });
  const more =
    'Run "holdfast help <command>" for flags and examples, "holdfast version" for the version.';
  return ['Usage: holdfast <command> [flags]', ...listed, more, EXIT_CODES].join('\n\n');
}

export function helpFor(
  { summary, examples }: CommandEntry,
  { usage, flags, exitCodes = {} }: CommandSpec,
): string {
  const codes = Object.entries(exitCodes).map(([code, text]) => [`  ${code}`, text]);
  const rows = Object.entries(flags).map(([name, flag]) => [
    `  ${flagText(name, flag)}`,
    flagHelp(flag),
  ]);
  return [
    summary,
    `Usage:\n${indented(usage.split('\n'))}`,
    ...(rows.length === 0 ? [] : [`Flags:\n${table(rows)}`]),
    `Examples:\n${indented(examples)}`,
    codes.length === 0 ? EXIT_CODES : `${EXIT_CODES}\n${table(codes)}`,
  ].join('\n\n');
}

/** `--port <n>`, `--auth keys|off`, `--json`. */
export function flagText(name: string, { value }: Flag): string {
  if (value === undefined) return `--${name}`;
  return `--${name} ${value.includes('|') || value.includes('…') ? value : `<${value}>`}`;
}

/** The help of a flag, with its mark and its environment variable. */
export function flagHelp({ help, required, variable }: Flag): string {
  const mark = required === true ? ' (required)' : '';
  return `${help}${mark}${variable === undefined ? '' : ` [${variable}]`}`;
}

function indented(lines: readonly string[]): string {
  return lines.map((line) => `  ${line}`).join('\n');
}
