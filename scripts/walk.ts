// Prints the files that a request passes, in order. With --write, it puts all walks into ARCHITECTURE.md.
//
//   npm run walk -- checkpoint|submit|step|http-claim|http-record [--store=<path or URL>]
//   npm run walk -- --write

import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { WALK_NAMES, walk, withWalks } from './walk/walks.ts';

const DOCUMENT = new URL('../ARCHITECTURE.md', import.meta.url);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { write: { type: 'boolean', default: false }, store: { type: 'string' } },
});
const unknown = positionals.find((name) => !WALK_NAMES.includes(name));
if (unknown !== undefined) {
  console.error(`Unknown walk "${unknown}". Use one of: ${WALK_NAMES.join(', ')}.`);
  process.exitCode = 2;
} else if (values.write) {
  const document = await readFile(DOCUMENT, 'utf8');
  await writeFile(DOCUMENT, withWalks(document, await walk(WALK_NAMES)));
} else {
  const names = positionals.length === 0 ? WALK_NAMES : positionals;
  for (const { name, call, files } of await walk(names, values.store)) {
    console.log(`${name}: ${call}, ${files.length} files`);
    for (const [index, file] of files.entries()) {
      console.log(`${String(index + 1).padStart(4)}  ${file}`);
    }
  }
}
