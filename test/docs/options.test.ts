// Every option that can be given when something is opened is named in the guide. The names are those of the table
// of bad arguments, which another test compares with the code.

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { OPTIONS_OF_OPENINGS } from '../engine/bad-arguments/of-openings.ts';

const DOCS = join(import.meta.dirname, '../../docs');

test('every option of what can be opened is described in the guide', async () => {
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
