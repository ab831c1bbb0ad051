import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_PROJECT, parsePipelineName } from '../../../execution/names.ts';
import { baseLeads } from './list.ts';

test('X-22: a list by pipeline has a bounded number of parts, however many releases there are', () => {
  const pipeline = parsePipelineName('orders');
  const partsWith = (releases: number): number => {
    const script = baseLeads({ project: DEFAULT_PROJECT, pipeline, limit: 10 });
    script.next();
    const rows = Array.from({ length: releases }, (_, nth) => ({ name: `v${nth}` }));
    const { done, value } = script.next(rows);
    assert.ok(done);
    return value.flatMap(({ parts }) => parts).length;
  };
  assert.equal(partsWith(3), 5);
  assert.equal(partsWith(3_000), 2);
});
