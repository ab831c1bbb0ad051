import assert from 'node:assert/strict';
import { test } from 'node:test';
import { networkOf } from './limiter.ts';

test('whoever can choose among 2^64 addresses is one', () => {
  const found = [
    ...['203.0.113.9', '::ffff:203.0.113.9', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::9'],
    ...['2001:0DB8:1:2:ffff::', '2001:db8::9', '::1', 'fe80::1'],
  ].map(networkOf);
  assert.deepEqual(found, [
    ...['203.0.113.9', '203.0.113.9', '2001:db8:1:2', '2001:db8:1:2', '2001:db8:1:2'],
    ...['2001:db8:0:0', '0:0:0:0', 'fe80:0:0:0'],
  ]);
});
