// Writes the generated pages of docs/reference, and those of docs/compare about scenarios. With --check, it fails if one is out of date.
//
//   npm run reference [-- --check]

import { readFile, writeFile } from 'node:fs/promises';
import { committedPages } from './reference/pages.ts';

for (const [path, text] of Object.entries(await committedPages())) {
  const file = new URL(`../${path}`, import.meta.url);
  if (!process.argv.includes('--check')) {
    await writeFile(file, text);
  } else if ((await readFile(file, 'utf8').catch(() => '')) !== text) {
    console.error(`${path} is out of date. Run: npm run reference`);
    process.exitCode = 1;
  }
}
