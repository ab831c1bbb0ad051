import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Tally } from './tally.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Twice the cores of the smallest machine this is run on: half of the tests wait for a deadline to pass. */
const CONCURRENCY = 4;

/** Runs test files with Node's runner, which reports progress and its summary as it goes. */
export async function runTests(
  title: string,
  files: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Tally> {
  console.log(`• ${title}: ${files.length} files`);
  // Without files Node's runner would look for some by itself.
  if (files.length === 0) {
    return { passed: 0, failed: 0, skipped: 0 };
  }
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-test-'));
  const tallyFile = join(folder, 'tally.json');
  try {
    const child = spawn(process.execPath, [...runnerFlags(tallyFile), ...files], {
      cwd: ROOT,
      env,
      stdio: 'inherit',
    });
    const [code, signal] = await once(child, 'exit');
    const tally = await readTally(tallyFile);
    if (tally === undefined || (code !== 0 && tally.failed === 0)) {
      console.error(`\nThe test runner ended early (${signal ?? `exit code ${code}`}).`);
      return { passed: 0, skipped: 0, ...tally, failed: 1 };
    }
    return tally;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function runnerFlags(tallyFile: string): readonly string[] {
  return [
    ...['--test', `--test-concurrency=${CONCURRENCY}`],
    ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
    `--test-reporter=${join(import.meta.dirname, 'tally-reporter.ts')}`,
    `--test-reporter-destination=${tallyFile}`,
  ];
}

async function readTally(path: string): Promise<Tally | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch {
    return undefined;
  }
}
