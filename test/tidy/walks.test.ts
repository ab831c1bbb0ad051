import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { WALK_NAMES, walk, withWalks } from '../../scripts/walk/walks.ts';

const LINES_MAX = 250;

test('ARCHITECTURE.md has the walks that requests take now; npm run walk -- --write', async () => {
  const document = readFileSync('ARCHITECTURE.md', 'utf8');
  assert.equal(document, withWalks(document, await walk(WALK_NAMES)));
  assert.ok(document.split('\n').length <= LINES_MAX);
});
