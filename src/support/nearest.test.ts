import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearestName } from './nearest.ts';

const known = ['ttlMs', 'graceMs', 'metadata', 'parent'];

test('a slip finds the name that was meant', () => {
  assert.equal(nearestName('ttlms', known), 'ttlMs');
  assert.equal(nearestName('gracMs', known), 'graceMs');
  assert.equal(nearestName('metdaata', known), 'metadata');
  assert.equal(nearestName('PARENT', known), 'parent');
});

test('letters that changed places are one slip, not two', () => {
  assert.equal(nearestName('lsit', ['init', 'list']), 'list');
  assert.equal(nearestName('ab', ['cd', 'ba']), 'ba');
});

test('a name like no other finds none', () => {
  assert.equal(nearestName('temperature', known), undefined);
  assert.equal(nearestName('x', ['metadata']), undefined);
  assert.equal(nearestName('anything', []), undefined);
});

test('a name that is too long for a slip is compared with none', () => {
  const long = 'x'.repeat(65);
  assert.equal(nearestName(long, [`${long}y`]), undefined);
});

test('of several the nearest is taken', () => {
  assert.equal(nearestName('limits', ['limited', 'limit', 'lists']), 'limit');
});
