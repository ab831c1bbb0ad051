import { relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';
import type { Failure, FileTime, Report, Tally } from './tally.ts';

/** A reporter for Node's runner that writes only the totals of the whole run, what failed and what took long. */
// biome-ignore lint/style/noDefaultExport: Node loads a reporter by its default export
export default async function* tallyReporter(
  events: AsyncIterable<TestEvent>,
): AsyncGenerator<string> {
  const failures: Failure[] = [];
  const times: FileTime[] = [];
  for await (const event of events) {
    if (event.type === 'test:fail') {
      const { name, file = '', details } = event.data;
      failures.push({ file: shown(file), name, why: firstLines(details.error) });
    }
    if (event.type !== 'test:summary') continue;
    const { file, counts, duration_ms: ms } = event.data;
    if (file !== undefined) times.push({ file: shown(file), ms });
    else yield JSON.stringify({ tally: tallied(counts), failures, times } satisfies Report);
  }
}

function tallied(counts: {
  readonly passed: number;
  readonly tests: number;
  readonly skipped: number;
  readonly todo: number;
}): Tally {
  const { passed, tests, todo } = counts;
  const skipped = counts.skipped + todo;
  return { passed, skipped, failed: tests - passed - skipped };
}

function shown(file: string): string {
  return relative(process.cwd(), file);
}

/** What was thrown, not that something was. */
function firstLines(error: Error): string {
  const { cause = error } = error;
  const text = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
  return text.split('\n').slice(0, LINES_MAX).join('\n');
}

const LINES_MAX = 12;
