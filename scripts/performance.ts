// Writes docs/performance.md, the capacity model of docs/operate/sizing.md and the drawings of the growth
// curves, from the results below bench/results.
//
//   npm run performance [-- <file>…]
//
// Files hold output of `npm run bench:peers -- --json` or `npm run bench -- <suite> --json`. Their
// results replace earlier ones of the same measurement.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generatedFiles } from './performance/page.ts';
import { addRecords, parseRecords, readRecords } from './performance/records.ts';

const ROOT = join(import.meta.dirname, '..');

for (const file of process.argv.slice(2)) {
  const added = parseRecords(readFileSync(file, 'utf8'));
  const quick = added.filter(({ conditions }) => conditions.quick).length;
  if (quick > 0) {
    throw new Error(
      `${file} has ${quick} results of quick rounds, which are not for decisions. Nothing of it was added. ` +
        'Measure without --quick.',
    );
  }
  addRecords(added);
}
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
for (const [path, text] of generatedFiles(readRecords(), read)) {
  writeFileSync(join(ROOT, path), text);
}
