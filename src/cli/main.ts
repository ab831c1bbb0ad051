#!/usr/bin/env node
// The command line. Results go to stdout, problems and progress to stderr.

import { readFile } from 'node:fs/promises';
import { Fault } from '../support/fault.ts';
import { adviseCommand } from './advise.ts';
import { type CommandSpec, type ExitCode, parseTyped, UsageProblem, unknown } from './command.ts';
import { helpFor, helpText } from './help.ts';
import { print, printJson, printProblem } from './screen.ts';
import { verifyLogCommand } from './verify-log.ts';

const COMMANDS: readonly CommandSpec[] = [adviseCommand, verifyLogCommand];

function commandNamed(name: string): CommandSpec {
  const found = COMMANDS.find((command) => command.name === name);
  if (found !== undefined) return found;
  throw unknown('command', name, [...COMMANDS.map((command) => command.name), 'help', 'version']);
}

async function main(words: readonly string[]): Promise<ExitCode> {
  const [name = 'help', ...rest] = words;
  if (name === 'help' || name === '--help' || name === '-h') {
    const [about] = rest;
    print(about === undefined ? helpText(COMMANDS) : helpFor(commandNamed(about)));
    return 0;
  }
  if (name === 'version' || name === '--version') {
    print(await ownVersion());
    return 0;
  }
  const command = commandNamed(name);
  const typed = parseTyped(command, rest);
  if (typed.isSet('help')) {
    print(helpFor(command));
    return 0;
  }
  return command.execute(typed);
}

async function ownVersion(): Promise<string> {
  const manifest = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
  return String(JSON.parse(manifest).version);
}

/** A file that is not there is a matter between a person and their shell; the rest is ours. */
function explain(fault: unknown): string {
  if (fault instanceof UsageProblem || fault instanceof Fault) return fault.message;
  if (fault instanceof Error && 'code' in fault && 'path' in fault) {
    return `${String(fault.path)} cannot be read or written (${String(fault.code)}).`;
  }
  return fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
}

// Whoever reads the output may have seen enough, as `head` does.
process.stdout.on('error', (fault: NodeJS.ErrnoException) => {
  if (fault.code !== 'EPIPE') throw fault;
});

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (fault) {
  const problem = explain(fault);
  printProblem(problem);
  if (process.argv.includes('--json')) printJson({ kind: 'failed', problem });
  process.exitCode = 2;
}
