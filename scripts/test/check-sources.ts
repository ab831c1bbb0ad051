import { spawn } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

const CHECKS: readonly { readonly title: string; readonly command: readonly string[] }[] = [
  { title: 'format and lint', command: ['biome', 'check', '--error-on-warnings'] },
  { title: 'types', command: typesOf('.', 'types') },
  { title: 'types of the console', command: typesOf('console', 'console-types') },
];

/** Incremental: the next run checks only changed files. */
function typesOf(project: string, memory: string): readonly string[] {
  return [
    'tsc',
    '-p',
    project,
    // More threads take 50 % more CPU time, and save no time while the tests run.
    '--singleThreaded',
    '--incremental',
    '--tsBuildInfoFile',
    `.cache/${memory}.tsbuildinfo`,
  ];
}

/** Runs the checks in parallel. Returns true for each that passed. */
export async function checkSources(): Promise<readonly boolean[]> {
  return await Promise.all(CHECKS.map(({ title, command }) => check(title, command)));
}

async function check(title: string, command: readonly string[]): Promise<boolean> {
  const startedAt = performance.now();
  const { ok, output } = await run(command);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  if (!ok) {
    console.log(output.trimEnd());
  }
  console.log(`${ok ? '✔' : '✖'} ${title} (${seconds} s)`);
  return ok;
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
