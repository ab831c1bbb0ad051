import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_PROJECT, parseProject } from '../execution/names.ts';
import { Held } from './admission.ts';
import { networkOf } from './connections.ts';

const whose = (key?: string) => ({
  ...{ name: 'x', project: DEFAULT_PROJECT, isOfAll: false, roles: new Set<never>() },
  ...(key === undefined ? {} : { key }),
});

test('one key holds at most a quarter of the open requests, and a released one is free again', () => {
  const counts: number[] = [];
  const held = new Held(8, (count) => counts.push(count));
  const release = held.hold(whose('a'));
  held.hold(whose('a'));
  assert.throws(() => held.hold(whose('a')), /Key a holds 2 requests and streams open here/);
  held.hold(whose('b'));
  release();
  release();
  held.hold(whose('a'));
  assert.throws(() => held.hold(whose('a')), { code: 'too-many-open', retryAfterS: 1 });
  assert.deepEqual(counts, [1, 2, 3, 2, 3]);
});

test('the number of open requests is limited for all callers; without keys there are no shares', () => {
  const held = new Held(2, () => undefined);
  held.hold(whose());
  held.hold(whose());
  assert.throws(
    () => held.hold(whose('a')),
    /holds 2 requests and streams open, which is its limit/,
  );
});

test('all keys of one project together hold at most half of the open requests', () => {
  const held = new Held(8, () => undefined);
  const others = { ...whose('x'), project: parseProject('b') };
  for (const key of ['a', 'b', 'c', 'd']) held.hold(whose(key));
  assert.throws(
    () => held.hold(whose('e')),
    /Project "default" holds 4 requests and streams open here/,
  );
  held.hold({ ...whose('operator'), isOfAll: true });
  held.hold(others)();
  held.hold(others);
});

test('all addresses of one IPv6 /64 network count as one', () => {
  const found = [
    ...['203.0.113.9', '::ffff:203.0.113.9', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::9'],
    ...['2001:0DB8:1:2:ffff::', '2001:db8::9', '::1', 'fe80::1'],
  ].map(networkOf);
  assert.deepEqual(found, [
    ...['203.0.113.9', '203.0.113.9', '2001:db8:1:2', '2001:db8:1:2', '2001:db8:1:2'],
    ...['2001:db8:0:0', '0:0:0:0', 'fe80:0:0:0'],
  ]);
});
