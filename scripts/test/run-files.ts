import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { run } from 'node:test';
import type { Failure, LeftOut, Report } from './report.ts';
import { nameOfFile, Results } from './results.ts';

const ROOT = join(import.meta.dirname, '../..');
const PRELOAD = join(import.meta.dirname, 'preload.ts');
/**
 * Files that run in parallel. Sampled runs take more than there are cores, because many tests wait. Full
 * runs take fewer: their files measure recoveries in real time, and each starts many processes.
 */
const CONCURRENCY = { sampled: 5, full: 2 };
/** The limit for one test. A file fails after twice this time. */
const TEST_MS_MAX = { sampled: 240_000, full: 5_400_000 };
/** A file in an endless loop cannot end itself. The run ends it after this many timeouts without a result. */
const STUCK_AFTER_TIMEOUTS = 3;

/** More files than this that fail have a common cause, so none is repeated. */
const REPEATED_MAX = 2;

/**
 * Repeats the few files that fail, one after the other. Beside other files on two cores, a case can exceed a
 * time limit for lack of CPU. The report names each failure that only occurred beside other files.
 */
export async function runSteadily(
  files: readonly string[],
  settings: NodeJS.ProcessEnv,
): Promise<Report> {
  const first = await runFiles(files, settings);
  const failed = [...new Set(first.failures.map(({ file }) => file))];
  // A group of files that failed as a whole has no path.
  const areFiles = failed.every((file) => existsSync(join(ROOT, file)));
  if (failed.length === 0 || failed.length > REPEATED_MAX || !areFiles || files.length === 1)
    return first;
  console.log(`• again, one file at a time: ${failed.join(', ')}`);
  const again = await runFiles(failed, settings, 1);
  const isUnsteady = ({ file }: Failure) =>
    !again.failures.some((failure) => failure.file === file);
  const unsteady = first.failures.filter(isUnsteady);
  const failures = first.failures.filter((failure) => !isUnsteady(failure));
  return { ...first, passed: first.passed + unsteady.length, failures, unsteady };
}

/** Runs each file in its own process and prints a line for it. */
export async function runFiles(
  files: readonly string[],
  settings: NodeJS.ProcessEnv,
  filesAtOnce?: number,
): Promise<Report> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-test-'));
  const notes = join(folder, 'notes.jsonl');
  // The files inherit the environment of this process.
  const kind = settings['HOLDFAST_TEST_FULL'] === '1' ? 'full' : 'sampled';
  const timeout = TEST_MS_MAX[kind];
  const forPreload = { HOLDFAST_TEST_NOTES: notes, HOLDFAST_TEST_FILE_MS: String(2 * timeout) };
  Object.assign(process.env, settings, forPreload);
  // Set if a test started this run. The files must not take it for their own.
  delete process.env['NODE_TEST_CONTEXT'];
  const stuck = new AbortController();
  const waitMs = setTimeout(() => stuck.abort(), STUCK_AFTER_TIMEOUTS * timeout).unref();
  const results = new Results(ROOT);
  try {
    const paths = files.map((file) => resolve(ROOT, file));
    const stream = run({
      files: paths,
      concurrency: filesAtOnce ?? CONCURRENCY[kind],
      timeout,
      execArgv: ['--import', PRELOAD],
      signal: stuck.signal,
    });
    for await (const event of stream) {
      waitMs.refresh();
      results.add(event);
    }
    results.end(paths);
    await readNotes(notes, results.report);
  } finally {
    clearTimeout(waitMs);
    await rm(folder, { recursive: true, force: true });
  }
  return results.report;
}

/** Adds the CPU times and samples that the test processes wrote down. */
async function readNotes(path: string, report: Results['report']): Promise<void> {
  const text = await readFile(path, 'utf8').catch(() => '');
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const note = JSON.parse(line) as LeftOut | { readonly file: string; readonly cpuMs: number };
    if ('family' in note) {
      report.leftOut.push(note);
      continue;
    }
    const name = nameOfFile(ROOT, note.file);
    const cost = report.files.find(({ file }) => file === name);
    if (cost !== undefined) cost.cpuMs += note.cpuMs;
  }
}
