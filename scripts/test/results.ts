import { relative } from 'node:path';
import type { EventData } from 'node:test';
import type { TestEvent } from 'node:test/reporters';
import type { Failure, FileCost, LeftOut, Report } from './report.ts';

interface Writable extends Report {
  passed: number;
  failures: Failure[];
  unsteady: Failure[];
  files: FileCost[];
  leftOut: LeftOut[];
}

/** Turns the events of a run into its report, and prints one line for each file. */
export class Results {
  readonly report: Writable = {
    passed: 0,
    failures: [],
    unsteady: [],
    files: [],
    leftOut: [],
  };
  readonly #root: string;
  readonly #printed = new Map<string, string>();
  readonly #ended = new Set<string>();
  /** Results at each depth since the last result above it. */
  readonly #inside: number[] = [];

  constructor(root: string) {
    this.#root = root;
  }

  add({ type, data }: TestEvent): void {
    if (type === 'test:pass' || type === 'test:fail') this.#addResult(type, data);
    if (type === 'test:stderr' || type === 'test:stdout') this.#print(data.file, data.message);
    // The runner reports an error outside of tests as a diagnostic.
    if (type === 'test:diagnostic' && data.message.startsWith('Error: ')) {
      this.#print(data.file ?? '', `${data.message}\n`);
    }
    if (type === 'test:summary' && data.file !== undefined) this.#endFile(data.file, data);
  }

  /** Fails files without an end event: their process exited early, or they contain no test. */
  end(files: readonly string[]): void {
    const failed = new Set(this.report.failures.map(({ file }) => file));
    for (const file of files.filter((each) => !this.#ended.has(each))) {
      if (failed.has(this.#nameOf(file))) continue;
      this.#fail(
        file,
        'whole file',
        'The file contains no test, or exited before its tests ended.',
      );
    }
  }

  #addResult(type: 'test:pass' | 'test:fail', data: EventData.TestPass | EventData.TestFail): void {
    const inside = this.#inside[data.nesting + 1] ?? 0;
    this.#inside[data.nesting + 1] = 0;
    this.#inside[data.nesting] = (this.#inside[data.nesting] ?? 0) + 1;
    const isSuite = data.details.type === 'suite';
    if (data.skip !== undefined || data.todo !== undefined)
      this.#fail(data.file, data.name, SKIPPED);
    else if (type === 'test:fail') this.#addFailure(data as EventData.TestFail);
    else if (isSuite && inside === 0)
      this.#fail(data.file, data.name, 'The suite contains no test.');
    // A file without tests passes under its own name; `end` fails it.
    else if (!isSuite && data.name !== data.file) this.report.passed += 1;
  }

  #addFailure({ name, file = '', details: { error } }: EventData.TestFail): void {
    // The failed tests inside are reported too.
    if ((error as { failureType?: string }).failureType === 'subtestsFailed') return;
    const { cause = error } = error;
    // A process that exited early has no error, but its output shows the cause.
    const printed = name === file ? this.#printed.get(file) : undefined;
    this.#fail(file, name, printed ?? (cause instanceof Error ? stackOf(cause) : String(cause)));
  }

  #fail(file: string | undefined, name: string, why: string): void {
    const lines = why.split('\n').slice(0, LINES_MAX);
    this.report.failures.push({ file: this.#nameOf(file ?? ''), name, why: lines.join('\n') });
  }

  #endFile(file: string, { counts, duration_ms: ms, success }: EventData.TestSummary): void {
    const name = this.#nameOf(file);
    this.#ended.add(file);
    this.report.files.push({ file: name, cases: counts.tests, ms, cpuMs: 0 });
    console.log(
      `${success ? '✔' : '✖'} ${name} (${counts.tests} cases, ${(ms / 1000).toFixed(1)} s)`,
    );
    const printed = this.#printed.get(file);
    if (!success && printed !== undefined) console.log(printed.trimEnd());
  }

  #print(file: string, text: string): void {
    this.#printed.set(file, (this.#printed.get(file) ?? '') + text);
  }

  #nameOf(file: string): string {
    return nameOfFile(this.#root, file);
  }
}

/** The file of a group is temporary, so the name of the group stands for it. */
export function nameOfFile(root: string, file: string): string {
  const path = relative(root, file);
  return path.replace(/^\.cache.test-groups.\d+.(.+)\.test\.ts$/, 'short files of "$1"');
}

const SKIPPED =
  'The test was skipped, which counts as failed. Install what it needs, leave a backend out with --without, or remove the skip.';

const LINES_MAX = 20;

function stackOf(error: Error): string {
  return error.stack ?? error.message;
}
