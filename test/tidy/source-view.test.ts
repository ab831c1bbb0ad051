import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lineAt, viewOf } from './source-view.ts';

const PLACEHOLDER = `$${"{g({ k: 'v' })}"}`;
const SOURCE = `f('a // b'); // note
const t = \`x ${PLACEHOLDER} y\`; /* z */ const r = /['"/]/;
`;

test('each view keeps one kind of text in its place', () => {
  assert.equal(viewOf(SOURCE, 'code').trimEnd().split('\n')[0]?.trimEnd(), "f('      ');");
  assert.match(viewOf(SOURCE, 'code'), /const t = ` {2}\$\{g\(\{ k: ' ' \}\)\} {2}`;/);
  assert.match(viewOf(SOURCE, 'code'), /const r = \/ {5}\/;/);
  assert.equal(viewOf(SOURCE, 'comment').replace(/\s+/g, ' ').trim(), '// note /* z */');
  assert.equal(viewOf(SOURCE, 'string').replace(/\s+/g, ' ').trim(), 'a // b x v y [\'"/]');
});

test('a view has the length and the lines of its source', () => {
  const view = viewOf(SOURCE, 'comment');
  assert.equal(view.length, SOURCE.length);
  assert.equal(lineAt(view, view.indexOf('z')), 2);
});
