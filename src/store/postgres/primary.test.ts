import assert from 'node:assert/strict';
import { test } from 'node:test';
import { urlPerHost } from './primary.ts';

test('a URL with several hosts becomes one URL for each', () => {
  assert.deepEqual(urlPerHost('postgres://ann:a,b@one:5432,two/shop?sslmode=require'), [
    'postgres://ann:a,b@one:5432/shop?sslmode=require',
    'postgres://ann:a,b@two/shop?sslmode=require',
  ]);
  assert.deepEqual(urlPerHost('postgresql://one,[::1]:5433/shop'), [
    'postgresql://one/shop',
    'postgresql://[::1]:5433/shop',
  ]);
});

test('a URL with one host or a socket stays as it is', () => {
  for (const url of [
    'postgres://one/shop',
    'postgres:///shop?host=/run/postgresql',
    'no URL, at all',
  ]) {
    assert.deepEqual(urlPerHost(url), [url]);
  }
});
