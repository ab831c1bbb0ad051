import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { WALK_NAMES, walk, withWalks } from '../../scripts/walk/walks.ts';

const LINES_MAX = 250;

test('ARCHITECTURE.md has the walks that requests take now; npm run walk -- --write', async () => {
  const document = readFileSync('ARCHITECTURE.md', 'utf8');
  const lines = document.split('\n');
  assert.deepEqual(lines, withWalks(document, await walk(WALK_NAMES)).split('\n'));
  assert.ok(lines.length <= LINES_MAX);
});
