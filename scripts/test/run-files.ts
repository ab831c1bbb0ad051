import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { type EventData, run } from 'node:test';
import type { Failure, FileCost, LeftOut, Report } from './report.ts';

const ROOT = join(import.meta.dirname, '../..');
const PRELOAD = join(import.meta.dirname, 'preload.ts');
/** More than cores, because many tests wait for a process or a deadline. */
const CONCURRENCY = 5;
/** A test that takes longer fails, and so does a file of them that takes twice as long or does not end. */
const TEST_MS_MAX = { sampled: 240_000, full: 5_400_000 };

/** Runs each file in a process of its own and prints one line for each. */
export async function runFiles(
  files: readonly string[],
  settings: NodeJS.ProcessEnv,
): Promise<Report> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-test-'));
  const notes = join(folder, 'notes.jsonl');
  // `run` hands this process's environment to the files.
  const timeout = TEST_MS_MAX[settings['HOLDFAST_TEST_FULL'] === '1' ? 'full' : 'sampled'];
  const forPreload = { HOLDFAST_TEST_NOTES: notes, HOLDFAST_TEST_FILE_MS: String(2 * timeout) };
  Object.assign(process.env, settings, forPreload);
  const report = emptyReport();
  try {
    const stream = run({
      files: files.map((file) => join(ROOT, file)),
      concurrency: CONCURRENCY,
      timeout,
      execArgv: ['--import', PRELOAD],
    });
    const printed = new Map<string, string>();
    for await (const { type, data } of stream) {
      if (type === 'test:fail') report.failures.push(failureOf(data, printed.get(data.file ?? '')));
      if (type === 'test:stderr' || type === 'test:stdout') {
        printed.set(data.file, (printed.get(data.file) ?? '') + data.message);
      }
      if (type !== 'test:summary') continue;
      if (data.file === undefined) addCounts(report, data.counts);
      else finishFile(report, data, printed.get(data.file));
    }
    await readNotes(notes, report);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return report;
}

function emptyReport(): Report & { failures: Failure[]; files: FileCost[]; leftOut: LeftOut[] } {
  return { passed: 0, failed: 0, skipped: 0, failures: [], files: [], leftOut: [] };
}

function addCounts(report: Report, counts: EventData.TestSummary['counts']): void {
  const skipped = counts.skipped + counts.todo;
  report.passed += counts.passed;
  report.skipped += skipped;
  report.failed += counts.tests - counts.passed - skipped;
}

function finishFile(
  report: ReturnType<typeof emptyReport>,
  { file = '', counts, duration_ms: ms, success }: EventData.TestSummary,
  printed: string | undefined,
): void {
  const name = relative(ROOT, file);
  report.files.push({ file: name, cases: counts.tests, ms, cpuMs: 0 });
  console.log(
    `${success ? '✔' : '✖'} ${name} (${counts.tests} cases, ${(ms / 1000).toFixed(1)} s)`,
  );
  if (!success && printed !== undefined) console.log(printed.trimEnd());
}

function failureOf(
  { name, file = '', details }: EventData.TestFail,
  printed: string | undefined,
): Failure {
  const { cause = details.error } = details.error;
  // A process that ended early has no error of its own: what it printed says why.
  const said = name === file ? printed : undefined;
  const why = said ?? (cause instanceof Error ? (cause.stack ?? cause.message) : String(cause));
  return { file: relative(ROOT, file), name, why: why.split('\n').slice(0, LINES_MAX).join('\n') };
}

const LINES_MAX = 20;

/** CPU times and samples, as the test processes noted them. */
async function readNotes(path: string, report: ReturnType<typeof emptyReport>): Promise<void> {
  const text = await readFile(path, 'utf8').catch(() => '');
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const note = JSON.parse(line) as LeftOut | { readonly file: string; readonly cpuMs: number };
    if ('family' in note) {
      report.leftOut.push(note);
      continue;
    }
    const name = relative(ROOT, note.file);
    const cost = report.files.find(({ file }) => file === name);
    if (cost !== undefined) cost.cpuMs += note.cpuMs;
  }
}
