#!/usr/bin/env node
// The command line. Results go to stdout, problems and progress to stderr.

import '../support/stop-requested.ts';
import { CallRefused } from '../client/client.ts';
import type { Code } from '../support/codes/catalogue.ts';
import { Fault } from '../support/fault.ts';
import { withoutSecrets } from '../support/hidden-options.ts';
import { nearestName } from '../support/options.ts';
import { packageVersion } from '../support/process-about.ts';
import {
  type CommandEntry,
  type ExitCode,
  parseTyped,
  type Typed,
  UsageProblem,
} from './command.ts';
import { COMMAND_GROUPS, COMMANDS } from './commands.ts';
import { helpFor, helpText } from './help.ts';
import { print, printLine, printProblem } from './screen.ts';

function commandNamed(name: string): CommandEntry {
  const found = COMMANDS.find((command) => command.name === name);
  if (found !== undefined) return found;
  const known = [...COMMANDS.map((command) => command.name), 'help', 'version'];
  const nearest = nearestName(name, known);
  const hint = nearest === undefined ? '' : ` Did you mean "${nearest}"?`;
  throw new UsageProblem(`There is no command "${name}".${hint} List all: holdfast --help.`);
}

async function main(words: readonly string[]): Promise<number> {
  const [name = 'help', ...rest] = words;
  if (name === 'help' || name === '--help' || name === '-h') {
    const [about] = rest;
    print(about === undefined ? helpText(COMMAND_GROUPS) : await helpOn(commandNamed(about)));
    return 0;
  }
  if (name === 'version' || name === '--version') {
    print(packageVersion() ?? 'unknown');
    return 0;
  }
  const command = commandNamed(name);
  const spec = await command.load();
  faultCode = spec.faultCode?.(rest);
  const typed = parseTyped(spec, rest);
  if (typed.isSet('help')) {
    print(helpFor(command, spec));
    return 0;
  }
  try {
    return await spec.execute(typed);
  } catch (fault) {
    // Printed after the problem itself.
    if ('project' in spec.flags) hint = await hintFor(typed, fault);
    throw fault;
  }
}

let hint: string | undefined;
let faultCode: number | undefined;

async function hintFor(typed: Typed, fault: unknown): Promise<string | undefined> {
  const isUnknown = fault instanceof CallRefused && fault.code === 'key-required';
  if (!isUnknown && !isOfProject(fault)) return undefined;
  const { keyHint, projectHint } = await import('./remote/connection.ts');
  return isUnknown ? keyHint(typed) : projectHint(typed);
}

async function helpOn(command: CommandEntry): Promise<string> {
  return helpFor(command, await command.load());
}

/** The user can fix a missing file, so print only its path. Other errors get a stack. */
function explain(fault: unknown) {
  if (fault instanceof UsageProblem || fault instanceof Fault) {
    return { code: fault.code, problem: fault.message };
  }
  if (fault instanceof Error && 'code' in fault && 'path' in fault) {
    const problem = `${String(fault.path)} cannot be read or written (${String(fault.code)}). Nothing was done. Check the path and its permissions.`;
    return { code: 'file-unusable' satisfies Code, problem };
  }
  const problem = fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
  return { code: 'fault' satisfies Code, problem };
}

/** Refusals after the coordinator looked at the request; these are results. */
const NOES: ReadonlySet<number> = new Set([404, 409, 410, 412, 422]);

/** The request reached the wrong coordinator or listener, so it has no result. */
const NOT_SERVED: ReadonlySet<string> = new Set(['route-unknown', 'admin-off', 'admin-elsewhere']);

/** A temporary refusal that the caller asked for, so it is a result. */
const NOES_FOR_NOW: ReadonlySet<string> = new Set(['no-worker', 'no-worker-for']);

function isNo(fault: unknown): fault is CallRefused {
  const isReply =
    fault instanceof CallRefused && (NOES.has(fault.status) || NOES_FOR_NOW.has(fault.code));
  return isReply && !NOT_SERVED.has(fault.code);
}

/** The object was not found, and may be in another project. Keys belong to no project. */
function isOfProject(fault: unknown): boolean {
  return isNo(fault) && fault.status === 404 && fault.code !== 'key-unknown';
}

/** Refusals of a store, which are results. */
const STORE_NOES: ReadonlySet<string> = new Set(['store-sealed', 'store-not-empty', 'not-sealed']);

function codeOf(fault: unknown): ExitCode {
  const isRefused = fault instanceof Fault && STORE_NOES.has(fault.code);
  return isRefused || isNo(fault) ? 1 : 2;
}

// The reader may close the pipe early, as `head` does.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (fault: NodeJS.ErrnoException) => {
    if (fault.code !== 'EPIPE') throw fault;
  });
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (fault) {
  const { code, problem } = explain(fault);
  printProblem(`${withoutSecrets(problem)} [${code}]`);
  if (hint !== undefined) printProblem(hint);
  if (process.argv.includes('--json')) printLine({ kind: 'failed', code, problem });
  process.exitCode = faultCode ?? codeOf(fault);
}
