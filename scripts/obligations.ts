// Prints what the specs oblige us to test, and what no test covers. Fails if there is such a gap.
//
//   npm run obligations [-- --all] [-- --write]
//
// --all prints every row. --write puts the figures into docs/verification.md.

import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { obligationFigures, withObligations } from './obligations/figures.ts';
import { KNOWN_GAP, obligationProblems, obligations } from './obligations/rows.ts';

const DOCUMENT = new URL('../docs/verification.md', import.meta.url);

const { values } = parseArgs({
  options: { all: { type: 'boolean', default: false }, write: { type: 'boolean', default: false } },
});
const rows = obligations();
if (values.all) {
  for (const { kind, id, test, reason } of rows) {
    console.log(`${kind}  ${id}  ${test ?? (reason === undefined ? 'no test' : `(${reason})`)}`);
  }
}
if (values.write) {
  await writeFile(DOCUMENT, withObligations(await readFile(DOCUMENT, 'utf8'), rows));
}
const problems = obligationProblems(rows);
console.log(obligationFigures(rows));
for (const { kind, id, reason } of rows)
  if (reason === KNOWN_GAP) console.log(`known gap: ${kind} "${id}"`);
for (const problem of problems) console.error(problem);
console.log(`${rows.length} obligations, ${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;
