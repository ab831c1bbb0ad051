import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { plain, withoutEscapes } from './screen.ts';

test('characters that move the cursor, colour or hide text are escaped; lines and tabs stay', () => {
  const hostile = 'a\u001b[2Jb\r\u0007\u009b31m\u202e\u2066\u007f';
  const spelt = 'a\\u001b[2Jb\\r\\u0007\\u009b31m\\u202e\\u2066\\u007f';
  assert.equal(withoutEscapes(`${hostile}\n\tc`), `${spelt}\n\tc`);
  assert.equal(plain(`${hostile}\n\tc`), `${spelt}\\n\\tc`);
  assert.equal(withoutEscapes('é 漢 😀 „x“'), 'é 漢 😀 „x“');
});

test('JSON keeps its value', () => {
  const value = { name: 'a\u001b\u009b\u202e' };
  const printed = withoutEscapes(JSON.stringify(value, undefined, 2));
  assert.deepEqual(JSON.parse(printed), value);
  assert.doesNotMatch(printed, /[\u0080-\u009f\u202a-\u202e]/);
});

const SRC = join(import.meta.dirname, '..');

/** The files that write output themselves, with the reason for each. */
const WRITERS: Readonly<Record<string, string>> = {
  'cli/screen.ts': 'the one place for all others',
  'features/export/cli.ts': 'how many rows, of which of our tables',
  'features/releases/repin-all-cli.ts': 'numbers and plain names of outcomes',
  'features/retention/cli.ts': 'numbers; a document, as bytes, where stdout is no terminal',
};

test('all output of the command line goes through one module', () => {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    // The files that `init` writes belong to the user.
    .filter((file) => /^(cli\/(?!init)|features\/.*cli\.ts$)/.test(file))
    .filter((file) => /(?<!\.test)\.ts$/.test(file));
  const writing = files.filter((file) =>
    /\b(stdout|stderr)\.write\(|\bconsole\.\w+\(/.test(readFileSync(join(SRC, file), 'utf8')),
  );
  assert.deepEqual(writing.sort(), Object.keys(WRITERS).sort());
});
