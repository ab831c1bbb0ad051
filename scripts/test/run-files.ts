import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { run } from 'node:test';
import type { LeftOut, Report } from './report.ts';
import { nameOfFile, Results } from './results.ts';

const ROOT = join(import.meta.dirname, '../..');
const PRELOAD = join(import.meta.dirname, 'preload.ts');
/**
 * Files at once. More than cores, because many tests wait for a process or a deadline. In full runs the files measure
 * recoveries in real time, each with many processes of its own.
 */
const CONCURRENCY = { sampled: 5, full: 2 };
/** A test that takes longer fails, and so does a file of them that takes twice as long or does not end. */
const TEST_MS_MAX = { sampled: 240_000, full: 5_400_000 };
/** A file that computes for ever cannot end itself: after so long without any result the run ends it. */
const STUCK_AFTER_TIMEOUTS = 3;

/** Runs each file in a process of its own and prints one line for each. */
export async function runFiles(
  files: readonly string[],
  settings: NodeJS.ProcessEnv,
): Promise<Report> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-test-'));
  const notes = join(folder, 'notes.jsonl');
  // `run` hands this process's environment to the files.
  const kind = settings['HOLDFAST_TEST_FULL'] === '1' ? 'full' : 'sampled';
  const timeout = TEST_MS_MAX[kind];
  const forPreload = { HOLDFAST_TEST_NOTES: notes, HOLDFAST_TEST_FILE_MS: String(2 * timeout) };
  Object.assign(process.env, settings, forPreload);
  // Of this run and of its files, not of a test that starts it.
  delete process.env['NODE_TEST_CONTEXT'];
  const stuck = new AbortController();
  const waitMs = setTimeout(() => stuck.abort(), STUCK_AFTER_TIMEOUTS * timeout).unref();
  const results = new Results(ROOT);
  try {
    const paths = files.map((file) => resolve(ROOT, file));
    const stream = run({
      files: paths,
      concurrency: CONCURRENCY[kind],
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

/** CPU times and samples, as the test processes noted them. */
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
