import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallerMessage } from '../protocol/messages/coordinator.ts';
import type { DepthMessage, WorkerMessage } from '../protocol/messages/sessions.ts';
import { blockedFinding, listenerFinding, workersFinding } from './doctor.ts';

function worker(about: Partial<WorkerMessage>): WorkerMessage {
  return { kind: 'remote', work: 'ready', ...about } as WorkerMessage;
}

function depth(ready: number): DepthMessage {
  return { max: 10, lanes: [{ lane: 'interactive', ready, running: 0 }] };
}

test('active workers are fine, and so are none if nothing waits', () => {
  const own = worker({ kind: 'coordinator' });
  assert.deepEqual(workersFinding([worker({}), own], depth(3)), {
    what: 'workers',
    found: '1, 3 executions ready',
  });
  assert.deepEqual(workersFinding([own, worker({ work: 'gone' })], depth(0)), {
    what: 'workers',
    found: '0, 0 executions ready',
  });
});

test('stuck workers, and executions that no worker takes, need a change', () => {
  const stuck = workersFinding([worker({}), worker({ work: 'stuck' })], depth(0));
  assert.equal(stuck.found, '2, 1 stuck, 0 executions ready');
  assert.match(stuck.change ?? '', /holdfast workers/);
  assert.match(workersFinding([], depth(1)).change ?? '', /^No worker runs/);
});

test('the listener finding shows the coordinator’s report and the URL’s scheme', () => {
  const caller = { auth: 'keys', hasAdmin: true } as CallerMessage;
  const at = (url: string, about: Partial<CallerMessage> = {}) =>
    listenerFinding(new URL(url), { ...caller, ...about });
  const found = 'no TLS, auth off, admin routes not here';
  const off = { auth: 'off', hasAdmin: false } as const;
  assert.deepEqual(at('http://127.0.0.1:7433', off), { what: 'its listener', found });
  assert.equal(at('https://hf.example').found, 'TLS, auth keys, admin routes here');
  assert.equal(at('https://hf.example').change, undefined);
  assert.equal(at('http://[::1]:7433').change, undefined);
  assert.match(at('http://hf.example').change ?? '', /^Access keys travel unencrypted/);
});

test('doctor reports executions that their code blocks', () => {
  const figures = { statuses: {}, ready: { count: 0, capped: false }, workers: 1 };
  const quiet = { pipeline: 'order', ...figures };
  assert.equal(blockedFinding({ pipelines: [quiet] }).change, undefined);
  const blocked = { count: 8, capped: false };
  const invoice = { pipeline: 'invoice', ...figures, blocked };
  const { found, change } = blockedFinding({ pipelines: [invoice, quiet] });
  assert.equal(found, '8 of invoice');
  assert.match(change ?? '', /holdfast list --hold blocked/);
});
