// Writes docs/reference, or fails if a page is out of date.
//
//   npm run reference [-- --check]

import { readFile, writeFile } from 'node:fs/promises';
import { errorsPage } from './reference/errors.ts';

const PAGES: Readonly<Record<string, () => string>> = {
  'docs/reference/errors.md': errorsPage,
};

for (const [path, render] of Object.entries(PAGES)) {
  const file = new URL(`../${path}`, import.meta.url);
  if (!process.argv.includes('--check')) {
    await writeFile(file, render());
  } else if ((await readFile(file, 'utf8')) !== render()) {
    console.error(`${path} is out of date. Run: npm run reference`);
    process.exitCode = 1;
  }
}
