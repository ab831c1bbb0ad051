import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ARTIFACTS_MAX, parseArtifacts } from './artifacts-model.ts';

const MAILER = { name: 'mailer', digest: 'sha256:1f0b' };
const FULL = { ...MAILER, name: 'api', size: 0, url: 'oci://shop/api', mediaType: 'text/x+y' };

test('artifacts are sorted by name and keep exactly their fields', () => {
  assert.deepEqual(parseArtifacts([MAILER, FULL]), [FULL, MAILER]);
  assert.deepEqual(parseArtifacts([]), []);
});

const WRONG: readonly (readonly [given: unknown, expected: RegExp])[] = [
  [{}, /artifacts must be an array/],
  [[null], /artifacts\[0\]/],
  [[{ name: 'mailer' }], /artifacts\[0\]: digest must be a string/],
  [[{ ...MAILER, sise: 1 }], /Did you mean "size"/],
  [[{ ...MAILER, size: -1 }], /artifacts\[0\]: size/],
  [[{ ...MAILER, size: 1.5 }], /artifacts\[0\]: size/],
  [[{ ...MAILER, url: '/shop/mailer' }], /url must be an absolute URL/],
  [[{ ...MAILER, url: `oci://${'x'.repeat(600)}` }], /url must be at most 512 bytes/],
  [[{ ...MAILER, mediaType: 'gzip' }], /mediaType must have the form type\/subtype/],
  [[MAILER, MAILER], /two entries named "mailer"/],
  [
    Array.from({ length: ARTIFACTS_MAX + 1 }, (_, at) => ({ ...MAILER, name: `${at}` })),
    /at most 16/,
  ],
];

for (const [given, expected] of WRONG) {
  test(`artifacts are refused: ${expected.source}`, () => {
    assert.throws(() => parseArtifacts(given), expected);
  });
}

test('a URL with a password is refused, and the error does not show it', () => {
  const secret = { ...MAILER, url: 'https://ann:hunter2@registry.example/mailer' };
  assert.throws(
    () => parseArtifacts([secret]),
    (error: Error) => /user name or password/.test(error.message) && !/hunter2/.test(error.message),
  );
});
