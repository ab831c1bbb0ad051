// Runs one private Redis server and ends it when the process that owns it is gone.
//
// The owner holds the other end of standard input and never writes to it. However the owner ends,
// SIGKILL included, the system closes that end; this process then kills the server and removes the
// folder. It runs in a session of its own so that an interrupt at the terminal does not reach it.

import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [program, folder, ...settings] = process.argv.slice(2);
if (program === undefined || folder === undefined) {
  throw new Error('usage: node redis-supervisor.ts <redis-server> <folder> [settings]');
}

const log: string[] = [];
const server = spawn(program, settings, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
createInterface({ input: server.stdout }).on('line', (line) => {
  log.push(line);
  if (line.includes('server is now ready') || line.includes('Ready to accept connections')) {
    process.stdout.write('ready\n');
    log.length = 0;
  }
});

server.once('error', (error) => end(`Redis did not start: ${error.message}`));
server.once('exit', (code, signal) => {
  const wasAsked = signal === 'SIGKILL';
  end(wasAsked ? undefined : `Redis ended (${signal ?? code}):\n${log.join('\n')}`);
});

process.stdin.resume();
process.stdin.once('close', () => server.kill('SIGKILL'));

function end(problem: string | undefined): void {
  rmSync(folder ?? '', { recursive: true, force: true, maxRetries: 10 });
  if (problem !== undefined) process.stderr.write(`${problem}\n`);
  process.exit(problem === undefined ? 0 : 1);
}
