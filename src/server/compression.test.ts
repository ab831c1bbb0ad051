import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { compressedText, encodingFor } from './compression.ts';

test('the encoding is the one that the client prefers, and none that it refuses', () => {
  const cases = [
    [undefined, undefined],
    ['', undefined],
    ['identity', undefined],
    ['gzip', 'gzip'],
    ['gzip, deflate, br', 'br'],
    ['GZIP;q=0.5, br;q=0.2', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['br;q=0, *', 'gzip'],
    ['*', 'br'],
    ['*;q=0', undefined],
    ['gzip;q=x', undefined],
  ] as const;
  for (const [accept, expected] of cases) assert.equal(encodingFor(accept), expected, accept);
});

test('a text is compressed unless it is small or two others are under way', async () => {
  const text = JSON.stringify(Array.from({ length: 500 }, (_, n) => ({ n, name: 'execution' })));
  const first = compressedText(text, 'br');
  const second = compressedText(text, 'gzip');
  assert.equal(await compressedText(text, 'br'), undefined);
  assert.equal(brotliDecompressSync((await first) as Buffer).toString(), text);
  assert.equal(gunzipSync((await second) as Buffer).toString(), text);
  assert.equal(await compressedText('{}', 'gzip'), undefined);
});
