import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { ExecutionId } from '../execution/names.ts';
import { ChildFailed, codeLocation, failureOf } from './failures.ts';

const own = pathToFileURL(resolve('src/engine/run/run.ts')).href;
const user = pathToFileURL(resolve('order.ts')).href;

function stackOf(...frames: readonly string[]): string {
  return ['TypeError: at once (not:1:2)', ...frames.map((frame) => `    at ${frame}`)].join('\n');
}

test('the location is the first frame of the user’s code', () => {
  const stack = stackOf(
    'node:internal/timers:1:2',
    `Run.enter (${own}:3:4)`,
    `charge (${user}?holdfast-load=2:16:5)`,
    `run (${user}:20:1)`,
  );
  assert.equal(codeLocation(stack), 'order.ts:16');
});

test('frames without a name, of async functions and of CommonJS are read', () => {
  assert.equal(codeLocation(stackOf(`async ${user}:7:1`)), 'order.ts:7');
  assert.equal(codeLocation(stackOf(`async run (${resolve('a (1)/b.cjs')}:8:1)`)), 'a (1)/b.cjs:8');
  assert.equal(codeLocation(stackOf('run (/elsewhere/b.js:9:1)')), '/elsewhere/b.js:9');
});

test('a package is named only if there is no other code', () => {
  const inPackage = `query (${resolve('node_modules/pg/lib/client.js')}:5:1)`;
  assert.equal(codeLocation(stackOf(inPackage, `run (${user}:6:1)`)), 'order.ts:6');
  assert.equal(codeLocation(stackOf(inPackage)), 'node_modules/pg/lib/client.js:5');
});

test('a stack without user code has no location', () => {
  assert.equal(codeLocation(stackOf(`Run.enter (${own}:3:4)`, 'native', 'eval:x:1')), undefined);
  assert.equal(codeLocation(''), undefined);
});

test('a failure has the location of the error, a parent’s that of its child', () => {
  const error = new Error('no');
  error.stack = stackOf(`run (${user}:6:1)`);
  const failure = failureOf(error);
  assert.equal(failure.location, 'order.ts:6');
  const ended = { id: 'x' as ExecutionId, status: 'failed', failure } as const;
  const child = new ChildFailed(ended);
  child.stack = '';
  assert.equal(failureOf(child).location, 'order.ts:6');
});
