// holdfast help: what there is, and what each takes.

import type { Command, CommandSpec } from './command.ts';
import { table } from './screen.ts';

const EXIT_CODES =
  'Exit codes: 0 all is well; 1 the answer is no (refused, not found, ended otherwise than completed, something to change, a violation, not enough evidence); 2 wrong usage, a fault, or nothing that could be asked or read.';

export function helpText(commands: readonly Command[]): string {
  const rows = [
    ...commands.map(({ name, summary }) => [`  ${name}`, summary]),
    ['  help [command]', 'this, or more about one'],
    ['  version', 'which version this is'],
  ];
  return ['holdfast <command>', '', table(rows), '', EXIT_CODES].join('\n');
}

export function helpFor({ summary }: Command, { usage, flags }: CommandSpec): string {
  const rows = Object.entries(flags).map(([name, { what }]) => [`  --${name}`, what]);
  const listed = rows.length === 0 ? [] : ['', table(rows)];
  return [usage, '', `  ${summary}`, ...listed, '', EXIT_CODES].join('\n');
}
