import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { plain, withoutEscapes } from './screen.ts';

test('what would move the cursor, colour or hide text is spelt out; lines and tabs stay', () => {
  const hostile = 'a\u001b[2Jb\r\u0007\u009b31m\u202e\u2066\u007f';
  const spelt = 'a\\u001b[2Jb\\r\\u0007\\u009b31m\\u202e\\u2066\\u007f';
  assert.equal(withoutEscapes(`${hostile}\n\tc`), `${spelt}\n\tc`);
  assert.equal(plain(`${hostile}\n\tc`), `${spelt}\\n\\tc`);
  assert.equal(withoutEscapes('é 漢 😀 „x“'), 'é 漢 😀 „x“');
});

test('JSON stays what it was', () => {
  const value = { name: 'a\u001b\u009b\u202e' };
  const printed = withoutEscapes(JSON.stringify(value, undefined, 2));
  assert.deepEqual(JSON.parse(printed), value);
  assert.doesNotMatch(printed, /[\u0080-\u009f\u202a-\u202e]/);
});

/** Each file with the reason why it may write: its own escapes, numbers, or requested bytes. */
const WRITERS: Readonly<Record<string, string>> = {
  'screen.ts': 'the one place for all others',
  'export/shared.ts': 'how many rows, of which of our tables',
  'remote/archive.ts': 'numbers; a document, as bytes, where nobody looks at a terminal',
  'remote/repin-all.ts': 'numbers and plain names of outcomes',
  'remote/watch.ts': 'plain lines, between escapes of its own',
};

test('everything that the command line prints goes through one place', () => {
  const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' });
  const writing = files.filter(
    (file) =>
      /(?<!\.test)\.ts$/.test(file) &&
      // `init` writes files for the user.
      !file.startsWith('init') &&
      /\b(stdout|stderr)\.write\(|\bconsole\.\w+\(/.test(
        readFileSync(join(import.meta.dirname, file), 'utf8'),
      ),
  );
  assert.deepEqual(
    writing.filter((file) => !(file.replaceAll('\\', '/') in WRITERS)),
    [],
  );
});
