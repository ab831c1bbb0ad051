import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noteLostRace } from './lost-race.ts';

test('T-6: a statement and a decision that disagree for good are reported', () => {
  const request = {};
  for (let loss = 1; loss <= 100; loss += 1) noteLostRace('checkpoint', request);
  assert.throws(() => noteLostRace('checkpoint', request), { code: 'assertion-failed' });
  noteLostRace('checkpoint', {});
});
