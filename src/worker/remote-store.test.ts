import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExecutionId } from '../execution/names.ts';
import { DEFAULT_POLICY } from '../lease/policy.ts';
import { Fault } from '../support/fault.ts';
import { systemTimers } from '../support/timer.ts';
import { remoteStore } from './remote-store.ts';

const ID = '01900000-0000-7000-8000-000000000001' as ExecutionId;

test('M-8: what is not there is told from what cannot be said: a project or a session that is gone', async () => {
  for (const code of ['execution-unknown', 'not-found', 'project-unknown', 'session-unknown']) {
    const carrier = {
      name: 'refusing',
      ask: () => Promise.reject(new Fault(code, 'as asked')),
      close: async () => undefined,
    };
    const hello = { project: 'default', store: 'any', durability: 'none', policy: DEFAULT_POLICY };
    const store = remoteStore({ carrier, hello, timers: systemTimers, pipelines: [] });
    const read = store.executions.read(ID);
    if (code === 'execution-unknown' || code === 'not-found') assert.equal(await read, undefined);
    else await assert.rejects(read, { code });
  }
});
