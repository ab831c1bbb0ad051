// Writes docs/openapi.json. With --check, it fails if the file is out of date.
//
//   npm run openapi [-- --check]

import { readFile, writeFile } from 'node:fs/promises';
import { API_VERSION, openapiOf } from '../src/protocol/rest/openapi.ts';
import { ROUTES } from '../src/protocol/rest/routes.ts';

const FILE = new URL('../docs/openapi.json', import.meta.url);

const text = `${JSON.stringify(openapiOf(ROUTES, API_VERSION), undefined, 1)}\n`;
if (process.argv.includes('--check')) {
  if ((await readFile(FILE, 'utf8')) !== text) {
    console.error('docs/openapi.json is out of date. Run: npm run openapi');
    process.exitCode = 1;
  }
} else {
  await writeFile(FILE, text);
}
