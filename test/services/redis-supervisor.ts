// Runs one private Redis server and ends it when the process that owns it is gone.
//
// The owner holds the other end of standard input. A line on it says "kill" or "start"; each is
// answered with a line, "killed" or "ready". However the owner ends, SIGKILL included, the system
// closes that end; this process then kills the server and removes the folder. It runs in a session of
// its own so that an interrupt at the terminal does not reach it.

import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [program, folder, ...settings] = process.argv.slice(2);
if (program === undefined || folder === undefined) {
  throw new Error('usage: node redis-supervisor.ts <redis-server> <folder> [settings]');
}

let server: ChildProcess | undefined;
let isOver = false;

function start(from: string): void {
  const log: string[] = [];
  const started = spawn(from, settings, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  server = started;
  createInterface({ input: started.stdout }).on('line', (line) => {
    log.push(line);
    if (line.includes('server is now ready') || line.includes('Ready to accept connections')) {
      process.stdout.write('ready\n');
      log.length = 0;
    }
  });
  started.once('error', (error) => end(`Redis did not start: ${error.message}`));
  started.once('exit', (code, signal) => {
    server = undefined;
    if (signal !== 'SIGKILL') end(`Redis ended (${signal ?? code}):\n${log.join('\n')}`);
    else if (isOver) end(undefined);
    else process.stdout.write('killed\n');
  });
}

createInterface({ input: process.stdin }).on('line', (command) => {
  if (command === 'kill') server?.kill('SIGKILL');
  if (command === 'start') start(program);
});
process.stdin.once('close', () => {
  isOver = true;
  if (server === undefined) end(undefined);
  else server.kill('SIGKILL');
});
start(program);

function end(problem: string | undefined): void {
  rmSync(folder ?? '', { recursive: true, force: true, maxRetries: 10 });
  if (problem !== undefined) process.stderr.write(`${problem}\n`);
  process.exit(problem === undefined ? 0 : 1);
}
