// Runs one private server and ends it when the process that owns it is gone.
//
// The owner holds the other end of standard input. A line on it is "kill" or "start"; this process
// answers each with a line, "killed" or "ready". However the owner ends, SIGKILL included, the
// system closes that end. This process then kills the server and removes the folder. It runs in its
// own session so that an interrupt at the terminal does not reach it.

import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';

export interface Supervised {
  /** Its name for people. */
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  /** Its folder, removed at the end. */
  readonly folder: string;
  /** A part of its output that shows that it is ready. */
  readonly ready: readonly string[];
  readonly uid?: number;
  readonly gid?: number;
}

const { name, program, args, folder, ready, ...user } = JSON.parse(
  process.argv[2] ?? '{}',
) as Supervised;

let server: ChildProcess | undefined;
let isOver = false;

function start(): void {
  const log: string[] = [];
  const options = { cwd: folder, ...user };
  const started = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  server = started;
  const read = (line: string): void => {
    log.push(line);
    if (ready.some((text) => line.includes(text))) {
      process.stdout.write('ready\n');
      log.length = 0;
    }
  };
  for (const input of [started.stdout, started.stderr]) createInterface({ input }).on('line', read);
  started.once('error', (error) => end(`${name} did not start: ${error.message}`));
  started.once('close', (code, signal) => {
    server = undefined;
    if (signal !== 'SIGKILL') end(`${name} ended (${signal ?? code}):\n${log.join('\n')}`);
    else if (isOver) end(undefined);
    else process.stdout.write('killed\n');
  });
}

createInterface({ input: process.stdin }).on('line', (command) => {
  if (command === 'kill') server?.kill('SIGKILL');
  if (command === 'start') start();
});
process.stdin.once('close', () => {
  isOver = true;
  if (server === undefined) end(undefined);
  else server.kill('SIGKILL');
});
start();

function end(problem: string | undefined): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  if (problem !== undefined) process.stderr.write(`${problem}\n`);
  process.exit(problem === undefined ? 0 : 1);
}
