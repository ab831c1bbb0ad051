import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oldNode } from './node-version.ts';

test('a Node that cannot run TypeScript gets the version it needs', async () => {
  for (const version of ['22.18.0', '23.6.1', '24.0.0']) {
    assert.equal(await oldNode(version), undefined, version);
  }
  for (const version of ['20.19.0', '22.17.1']) {
    const expected = `TypeScript files need Node 22.18 or newer; this is ${version}. Install it in the project: npm install node@24.`;
    assert.equal(await oldNode(version), expected);
  }
});
