// holdfast help: what there is, and what each takes.

import type { CommandSpec } from './command.ts';
import { table } from './screen.ts';

const EXIT_CODES =
  'Exit codes: 0 all is well; 1 the answer is no (a violation, not enough evidence, goals in conflict); 2 wrong usage, a file that cannot be read, or nothing in it to check.';

export function helpText(commands: readonly CommandSpec[]): string {
  const rows = [
    ...commands.map(({ name, summary }) => [`  ${name}`, summary]),
    ['  help [command]', 'this, or more about one'],
    ['  version', 'which version this is'],
  ];
  return ['holdfast <command>', '', table(rows), '', EXIT_CODES].join('\n');
}

export function helpFor({ usage, summary, flags }: CommandSpec): string {
  const rows = Object.entries(flags).map(([name, { what }]) => [`  --${name}`, what]);
  return [usage, '', `  ${summary}`, '', table(rows), '', EXIT_CODES].join('\n');
}
