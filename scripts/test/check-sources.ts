import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { type Tally, tallyOf } from './tally.ts';

const ROOT = join(import.meta.dirname, '../..');

const CHECKS: readonly { readonly title: string; readonly command: readonly string[] }[] = [
  { title: 'format and lint', command: ['biome', 'check', '--error-on-warnings'] },
  { title: 'types', command: ['tsc', '-p', '.'] },
  { title: 'types of the console', command: ['tsc', '-p', 'console'] },
];

/** Runs the checks side by side; each counts as one passed or failed. */
export async function checkSources(): Promise<readonly Tally[]> {
  return await Promise.all(CHECKS.map(({ title, command }) => check(title, command)));
}

async function check(title: string, command: readonly string[]): Promise<Tally> {
  const startedAt = performance.now();
  const { ok, output } = await run(command);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  if (!ok) {
    console.log(output.trimEnd());
  }
  console.log(`${ok ? '✔' : '✖'} ${title} (${seconds} s)`);
  return tallyOf(ok);
}

function run([program = '', ...args]: readonly string[]): Promise<{ ok: boolean; output: string }> {
  const path = join(ROOT, 'node_modules/.bin', program);
  return new Promise((resolve, reject) => {
    const child = spawn(path, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    child.once('error', (error) =>
      reject(new Error(`${program} did not start (${error.message}). Run \`npm ci\` first.`)),
    );
    child.once('close', (code) => resolve({ ok: code === 0, output }));
  });
}
