import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jittered, seededRandom, systemRandom } from './random.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test('the same seed gives the same numbers and ids, another seed others', () => {
  const draw = (seed: number) => {
    const random = seededRandom(seed);
    return [random.next(), random.next(), random.uuid(), random.uuid()];
  };
  assert.deepEqual(draw(7), draw(7));
  assert.notDeepEqual(draw(7), draw(8));
});

test('numbers lie in [0, 1) and fill it', () => {
  const random = seededRandom(1);
  const tenths = new Set<number>();
  for (let count = 0; count < 1_000; count += 1) {
    const drawn = random.next();
    assert.ok(drawn >= 0 && drawn < 1);
    tenths.add(Math.floor(drawn * 10));
  }
  assert.equal(tenths.size, 10);
});

test('ids are UUIDs and do not repeat', () => {
  const random = seededRandom(1);
  const drawn = Array.from({ length: 500 }, () => random.uuid());
  assert.equal(new Set(drawn).size, 500);
  for (const id of [...drawn, systemRandom.uuid()]) assert.match(id, UUID);
});

test('jitter moves a value by at most its share, both ways', () => {
  const always = (value: number) => ({ next: () => value, uuid: () => '' });
  assert.equal(jittered(always(0), 1_000, 0.1), 900);
  assert.equal(jittered(always(0.5), 1_000, 0.1), 1_000);
  assert.ok(Math.abs(jittered(always(1), 1_000, 0.1) - 1_100) < 1e-6);
  assert.equal(jittered(always(0.9), 1_000, 0), 1_000);
});
