// Defines commands and parses their words and flags.

import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { assert } from '../support/assert.ts';
import type { Code } from '../support/codes/catalogue.ts';
import { nearestName } from '../support/options.ts';

/** The help lists these; the rest loads when a command runs. */
export interface CommandEntry {
  readonly name: string;
  /** One imperative sentence. */
  readonly summary: string;
  /** Two or more; a test parses each. */
  readonly examples: readonly [string, string, ...string[]];
  load(): Promise<CommandSpec>;
}

export interface CommandSpec {
  readonly usage: string;
  readonly flags: Readonly<Record<string, Flag>>;
  /** The allowed values of the first word, if they can be listed. */
  readonly choices?: readonly string[];
  /** Exit codes beside the usual ones, for the help. */
  readonly exitCodes?: Readonly<Record<string, string>>;
  /** The exit code for faults and wrong usage, if not the usual one. */
  faultCode?(words: readonly string[]): number | undefined;
  /** The exit code, usually an `ExitCode`. */
  execute(typed: Typed): Promise<number>;
}

/** 0 success, 1 a negative result, 2 wrong usage or a fault. */
export type ExitCode = 0 | 1 | 2;

export interface Flag {
  /** Placeholder of its value: `ms`, `path`, `keys|off`. A flag without one is a switch. */
  readonly value?: string;
  /** Includes the unit and, unless it is required, the default. */
  readonly help: string;
  /** The command, or each subcommand that `help` starts with, cannot run without it. */
  readonly required?: true;
  /** The environment variable that sets it too. */
  readonly variable?: string;
}

export interface Typed {
  /** The words that are not flags, in order. */
  readonly words: readonly string[];
  text(flag: string): string | undefined;
  isSet(flag: string): boolean;
}

/** Wrong usage. The message suggests a likely correction. */
export class UsageProblem extends Error {
  override readonly name = 'UsageProblem';
  readonly code: Code = 'wrong-usage';
}

export function parseTyped(spec: CommandSpec, words: readonly string[]): Typed {
  const flags: Readonly<Record<string, Flag>> = {
    ...spec.flags,
    help: { help: 'Print this help' },
  };
  const { values, positionals, tokens } = parseArgs({
    args: [...words],
    options: Object.fromEntries(
      Object.entries(flags).map(([name, { value }]) => {
        return [name, { type: value === undefined ? 'boolean' : 'string' }];
      }),
    ),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    if (!Object.hasOwn(flags, token.name))
      throw unknown(
        'flag',
        token.rawName,
        Object.keys(flags).map((name) => `--${name}`),
      );
    const takesText = flags[token.name]?.value !== undefined;
    if (takesText && token.value === undefined) {
      throw new UsageProblem(`${token.rawName} needs a value. Usage: ${spec.usage}`);
    }
    if (!takesText && token.value !== undefined) {
      throw new UsageProblem(`${token.rawName} takes no value; got "${token.value}".`);
    }
  }
  return {
    words: positionals,
    text: (flag) => (typeof values[flag] === 'string' ? values[flag] : undefined),
    isSet: (flag) => values[flag] === true,
  };
}

export function unknown(what: string, typed: string, known: readonly string[]): UsageProblem {
  const nearest = nearestName(typed, known);
  const hint = nearest === undefined ? `Known: ${known.join(', ')}.` : `Did you mean "${nearest}"?`;
  return new UsageProblem(`There is no ${what} "${typed}". ${hint}`);
}

/** Parses a whole number of at least `min`. */
export function integerText(flag: string, text: string | undefined, min = 0): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,12}$/.test(text)) {
    throw new UsageProblem(`--${flag} must be a whole number; got "${text}".`);
  }
  if (Number(text) < min) {
    throw new UsageProblem(`--${flag} must be at least ${min}; got "${text}".`);
  }
  return Number(text);
}

const UNITS_MS: Readonly<Record<string, number>> = {
  ...{ ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 },
};

/** Parses a duration: `90d`, `12h`, `30m`, `45s`, `500ms`. */
export function durationText(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, count, unit = ''] = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text) ?? [];
  if (count === undefined) {
    throw new UsageProblem(
      `--${flag} must be a duration such as 90d, 12h, 30m or 45s; got "${text}".`,
    );
  }
  return Number(count) * (UNITS_MS[unit] ?? 1);
}

/** The named logs. A missing file shows when it is opened. */
export function logsOf(spec: CommandSpec, typed: Typed): readonly string[] {
  if (typed.words.length === 0)
    throw new UsageProblem(`A log file is required. Usage: ${spec.usage}`);
  for (const file of typed.words) {
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory() === true) {
      throw new UsageProblem(`${file} is a folder. Pass the log files in it.`);
    }
  }
  return typed.words;
}

/** The text of a flag that is marked as required, so that the help shows it so. */
export function requiredText(
  { usage, flags }: Pick<CommandSpec, 'usage' | 'flags'>,
  typed: Typed,
  flag: string,
): string {
  assert(flags[flag]?.required === true, `required flags are marked: --${flag} is not`);
  const text = typed.text(flag);
  if (text !== undefined) return text;
  throw new UsageProblem(`--${flag} is required. Usage: ${usage}`);
}

export function refuseWords({ usage }: Pick<CommandSpec, 'usage'>, { words }: Typed): void {
  const [word] = words;
  if (word === undefined) return;
  throw new UsageProblem(`Unexpected argument "${word}". Usage: ${usage}`);
}

/** The required words, in order. Throws if one is missing or there are more. */
export function wordsOf<const Names extends readonly string[]>(
  { usage }: Pick<CommandSpec, 'usage'>,
  { words }: Typed,
  names: Names,
): { readonly [At in keyof Names]: string } {
  for (const [at, name] of names.entries()) {
    if (words[at] === undefined || words[at] === '') {
      throw new UsageProblem(`<${name}> is required. Usage: ${usage}`);
    }
  }
  if (words.length > names.length) {
    throw new UsageProblem(`Unexpected argument "${words[names.length]}". Usage: ${usage}`);
  }
  return words as { readonly [At in keyof Names]: string };
}

/** A subcommand: the first word selects it, and the other words belong to it. */
export interface Verb {
  readonly usage: string;
  execute(typed: Typed): Promise<number>;
}

/** Without a word, the first subcommand runs. */
export function commandOfVerbs(
  what: string,
  verbs: Readonly<Record<string, Verb>>,
  flags: CommandSpec['flags'],
): CommandSpec {
  const names = Object.keys(verbs);
  return {
    usage: Object.values(verbs)
      .map(({ usage }) => usage)
      .join('\n'),
    flags,
    choices: names,
    async execute(typed) {
      const [name = names[0] ?? '', ...words] = typed.words;
      const verb = Object.hasOwn(verbs, name) ? verbs[name] : undefined;
      if (verb === undefined) throw unknown(`"${what}" command`, name, names);
      return verb.execute({ ...typed, words });
    },
  };
}

/** Splits a list at its commas. */
export function listText(text: string | undefined): readonly string[] | undefined {
  return text
    ?.split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}

// Reads a typed value: JSON, @ and a file name, or - for stdin.

export async function typedValue(typed: string | undefined): Promise<unknown> {
  if (typed === undefined) return undefined;
  if (typed === '-') return parsed('The input on stdin', await text(process.stdin));
  if (typed.startsWith('@')) {
    const file = typed.slice(1);
    return parsed(file, await readFile(file, 'utf8').catch(explainMissing(file)));
  }
  return parsed(`"${typed}"`, typed);
}

function explainMissing(file: string): (fault: NodeJS.ErrnoException) => never {
  return (fault) => {
    if (fault.code !== 'ENOENT') throw fault;
    throw new UsageProblem(
      `There is no file "${file}". @file reads a file and - reads stdin. Put JSON in quotes, such as '{"item":"tent"}'.`,
    );
  };
}

function parsed(what: string, json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw new UsageProblem(
      `${what} is not valid JSON (${(cause as Error).message}). Write text as '"in quotes"'. @file reads a file and - reads stdin.`,
    );
  }
}
