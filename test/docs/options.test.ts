// The guide names every option of every open function. Another test compares the table of bad
// arguments, which has the names, with the code.

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { OPTIONS_OF_OPENINGS } from '../engine/bad-arguments/of-openings.ts';

const DOCS = join(import.meta.dirname, '../../docs');

test('the guide describes every option of every open function', async () => {
  const files = await readdir(DOCS, { recursive: true });
  const pages = await Promise.all(
    files
      .filter((file) => /^(?:start|guides?|concepts|operate|compare)\/.*\.md$/.test(file))
      .map((file) => readFile(join(DOCS, file), 'utf8')),
  );
  const guide = pages.join('\n');
  const missing = OPTIONS_OF_OPENINGS.flatMap(({ of, names }) =>
    Object.keys(names)
      .filter((name) => !new RegExp(`(\\b|\\.)${name}\\b`).test(guide))
      .map((name) => `${of}: ${name}`),
  );
  assert.deepEqual(missing, []);
});
