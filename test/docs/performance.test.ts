// The figures of docs/performance.md are those of bench/results.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { capacityOf } from '../../scripts/performance/capacity.ts';
import { growthCurves } from '../../scripts/performance/curves.ts';
import { generatedFiles } from '../../scripts/performance/page.ts';
import { readRecords } from '../../scripts/performance/records.ts';
import { verdicts } from '../../scripts/performance/targets.ts';
import { readProjectFile } from '../tidy/project-files.ts';

const records = readRecords();

test('the pages and drawings have the figures of bench/results', () => {
  for (const [path, text] of generatedFiles(records, readProjectFile)) {
    assert.equal(readProjectFile(path), text, `${path}: run npm run performance`);
  }
});

test('another figure makes the pages differ', () => {
  const peers = records.peers.map((each) => ({
    ...each,
    values: each.values.map((value) => value * 3),
  }));
  const changed = generatedFiles({ ...records, peers }, readProjectFile);
  assert.notEqual(changed.get('docs/performance.md'), readProjectFile('docs/performance.md'));
});

test('only full rounds with durable stores are in bench/results', () => {
  for (const { conditions } of [...records.peers, ...records.figures]) {
    assert.equal(conditions.quick, false);
  }
  const ofPostgres = records.peers.filter(({ storeSettings }) => 'fsync' in storeSettings);
  assert.ok(ofPostgres.length > 0);
  for (const { subject, storeSettings } of ofPostgres) {
    const { fsync, synchronous_commit: commit } = storeSettings;
    assert.deepEqual([fsync, commit], ['on', 'on'], subject);
  }
});

test('the capacity model foretells the rate of the coordinator', () => {
  const capacity = capacityOf(records);
  assert.ok(capacity !== undefined);
  const share = capacity.measured / capacity.foretold;
  assert.ok(share > 0.7 && share < 1.2, `the measured rate is ${share} of the foretold`);
});

test('every target has a verdict', () => {
  const found = verdicts(records);
  const works = new Set(found.map(({ work }) => work));
  assert.deepEqual([...works].sort(), [
    'memory, 1,000 in flight',
    'one step, drained',
    'pickup from idle',
    'pickup from idle, other process',
    'submit in batches of 500',
    'three steps, 64 in flight',
    'three steps, drained',
    'three steps, one at a time',
    'through a coordinator, 64 in flight',
    'through a coordinator, one at a time',
    'transactions besides steps',
  ]);
});

test('each curve has at least three sizes', () => {
  for (const { size, lines } of growthCurves(records.figures)) {
    for (const { points } of lines) assert.ok(points.length >= 3, size);
  }
});
