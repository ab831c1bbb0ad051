import type { TestEvent } from 'node:test/reporters';
import type { Tally } from './tally.ts';

/** A reporter for Node's runner that writes only the totals of the whole run. */
// biome-ignore lint/style/noDefaultExport: Node loads a reporter by its default export
export default async function* tallyReporter(
  events: AsyncIterable<TestEvent>,
): AsyncGenerator<string> {
  for await (const event of events) {
    if (event.type === 'test:summary' && event.data.file === undefined) {
      const { passed, tests, skipped, todo } = event.data.counts;
      const tally: Tally = {
        passed,
        skipped: skipped + todo,
        failed: tests - passed - skipped - todo,
      };
      yield JSON.stringify(tally);
    }
  }
}
