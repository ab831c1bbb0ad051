// The `sh` blocks of the documentation, and a shell that records or runs them.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { inherited, type Ran, Spawned } from '../cli/spawned.ts';
import { findPostgresBinaries } from '../services/postgres-binaries.ts';

const ROOT = join(import.meta.dirname, '../..');
const HOOK = join(ROOT, 'scripts/package-sources.ts');
const MAIN = join(ROOT, 'src/cli/main.ts');
const WORKER = join(import.meta.dirname, 'children/order-worker.ts');

export interface ShellPage {
  readonly page: string;
  /** All `sh` blocks of the page, in their order; empty if there are none. */
  readonly script: string;
  readonly text: string;
}

const BLOCK = /^( *)```(?:sh|bash)\n(.*?)^ *```$/gms;

export function shellPages(): readonly ShellPage[] {
  const files = globSync('docs/{start,guides,concepts,operate,compare}/*.md', { cwd: ROOT });
  return ['README.md', ...files.sort()].map((page) => {
    const text = readFileSync(join(ROOT, page), 'utf8');
    const blocks = [...text.matchAll(BLOCK)].map(([, indent = '', code = '']) =>
      code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    );
    return { page, text, script: blocks.join('') };
  });
}

/** Commands that the shell only records, by their first words, with the reason. */
export const NOT_RUN: Readonly<Record<string, string>> = {
  docker: 'Needs a container engine. deploy.test.ts checks the files.',
  pip: 'Needs a package index to build. test/conform runs the package from its folder.',
  'npm ci': 'The tests run in the installed checkout.',
  'npm install': 'Needs the registry. test/package installs the tarball.',
  'npm init': 'Only before npm install.',
  'npm pkg': 'Only before npm install.',
  'npm test': 'In the checkout, this test is a part of it. test/package runs it in a new project.',
  'npm run check': 'test/package runs it in a new project.',
  'npm run dev': 'test/package runs it in a new project.',
  'npm run demo': 'test/processes runs it.',
  'npm run bench': 'Takes minutes, and measures only on a quiet machine.',
  'npm run -s holdfast -- init': 'Packs the checkout. test/package runs it.',
};

/** All other programs that the blocks use. The machine must have those without a replacement. */
const PROGRAMS: Readonly<Record<string, string | undefined>> = {
  // `serve` and `dev` stay in the background when they listen.
  holdfast: `case "$*" in
  *--print-config*) ;;
  serve*|dev*)
    log=$(mktemp "$SCRATCH/.log-XXXXXX")
    "$NODE" --import "$HOOK" "$MAIN" "$@" > "$log" 2>&1 &
    until grep -q '"url":"http' "$log"; do kill -0 $! || { cat "$log"; exit 1; }; sleep 0.05; done
    exit ;;
esac
exec "$NODE" --import "$HOOK" "$MAIN" "$@"`,
  npx: 'exec "$@"',
  npm: 'case "$1" in start) exec holdfast dev ;; run) shift 4; exec holdfast "$@" ;; esac',
  node: 'exec "$NODE" --import "$HOOK" "$@"',
  esbuild: `exec "${join(ROOT, 'node_modules/.bin/esbuild')}" "$@"`,
  // For scenes: a worker of the pipeline order, in the release that is named.
  worker: `"$NODE" "${WORKER}" "$@" > "$SCRATCH/.worker" 2>&1 &`,
  // Names the page whose commands follow.
  page: '',
  ...{ cp: undefined, rm: undefined, grep: undefined, curl: undefined, openssl: undefined },
  ...{ createdb: undefined, pg_dump: undefined, pg_restore: undefined, sqlite3: undefined },
};

const RECORD = `printf '%s\\0' $(($# + 1)) "\${0##*/}" "$@" >> "$SCRATCH/.recorded"`;
/**
 * Commands that are not run have created no folder. A coordinator that npm started ends with its
 * parent, and here its parent is the script `holdfast`, which ends at once.
 */
const BEGIN = `set -e; unset npm_lifecycle_event; cd() { mkdir -p "$1" && command cd "$1"; }\n`;

export interface ShellRun extends Ran {
  /** Each command with its words, in order. */
  readonly commands: readonly (readonly string[])[];
}

/** Passes a script to `sh`. It only records the commands unless `isReal`. */
export async function runShell(
  script: string,
  scratch: string,
  { isReal, env = {} }: { readonly isReal: boolean; readonly env?: NodeJS.ProcessEnv },
): Promise<ShellRun> {
  const bin = join(scratch, '.bin');
  await mkdir(bin);
  const left = Object.keys(NOT_RUN).map((words) => `'${words}'*) exit ;;`);
  const first = ['#!/bin/sh', RECORD, `case "\${0##*/} $*" in ${left.join(' ')} esac`].join('\n');
  const names = new Set([...Object.keys(PROGRAMS), ...Object.keys(NOT_RUN).map(firstWord)]);
  for (const name of names) {
    const body = isReal ? PROGRAMS[name] : '';
    if (isReal && name in PROGRAMS && body === undefined) continue;
    await writeFile(join(bin, name), `${first}\n${body ?? ''}\n`, { mode: 0o755 });
  }
  const { directory } = await findPostgresBinaries();
  const PATH = [bin, directory, process.env['PATH']].join(delimiter);
  const paths = { SCRATCH: scratch, NODE: process.execPath, HOOK, MAIN, PATH };
  const ran = await runScript(BEGIN + script, scratch, { ...inherited(), ...paths, ...env });
  return { ...ran, commands: await recordedIn(scratch) };
}

/** Runs a script in a folder, and ends what it left in the background. */
export async function runScript(script: string, cwd: string, env: NodeJS.ProcessEnv): Promise<Ran> {
  const child = spawn('sh', ['-c', script], { cwd, env, detached: true });
  try {
    return await new Spawned(child).ended();
  } finally {
    endGroup(child.pid ?? assert.fail());
  }
}

function endGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // Nothing was left.
  }
}

const firstWord = (words: string): string => words.split(' ')[0] ?? '';

/** The name of each command is preceded by the number of its words. */
async function recordedIn(scratch: string): Promise<readonly (readonly string[])[]> {
  const words = (await readFile(join(scratch, '.recorded'), 'utf8').catch(() => '')).split('\0');
  const commands: (readonly string[])[] = [];
  while (words.length > 1) commands.push(words.splice(0, Number(words.shift())));
  return commands;
}
