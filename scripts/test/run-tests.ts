import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Report } from './tally.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Twice the cores of the smallest machine this is run on: half of the tests wait for a deadline to pass. */
const CONCURRENCY = 4;
/** Of one file: what hangs is told, and ends. */
const FILE_MS_MAX = { usual: 600_000, long: 5_400_000 };

const NOTHING: Report = {
  tally: { passed: 0, failed: 0, skipped: 0 },
  failures: [],
  times: [],
};

/** Runs test files with Node's runner, which reports progress and its summary as it goes. */
export async function runTests(
  title: string,
  files: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Report> {
  console.log(`• ${title}: ${files.length} files`);
  // Without files Node's runner would look for some by itself.
  if (files.length === 0) {
    return NOTHING;
  }
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-test-'));
  const reportFile = join(folder, 'report.json');
  try {
    const child = spawn(process.execPath, [...runnerFlags(reportFile, env), ...files], {
      cwd: ROOT,
      env,
      stdio: 'inherit',
    });
    const [code, signal] = await once(child, 'exit');
    const report = (await readReport(reportFile)) ?? NOTHING;
    if (report === NOTHING || (code !== 0 && report.tally.failed === 0)) {
      console.error(`\nThe test runner ended early (${signal ?? `exit code ${code}`}).`);
      return { ...report, tally: { ...report.tally, failed: 1 } };
    }
    return report;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function runnerFlags(reportFile: string, env: NodeJS.ProcessEnv): readonly string[] {
  const { usual, long } = FILE_MS_MAX;
  const fileMs = env['HOLDFAST_TEST_LONG'] === undefined ? usual : long;
  return [
    ...['--test', `--test-concurrency=${CONCURRENCY}`, `--test-timeout=${fileMs}`],
    ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
    `--test-reporter=${join(import.meta.dirname, 'tally-reporter.ts')}`,
    `--test-reporter-destination=${reportFile}`,
  ];
}

async function readReport(path: string): Promise<Report | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch {
    return undefined;
  }
}
