import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExecutionId } from '../execution/names.ts';
import type { Fence } from '../lease/fence.ts';
import type { SessionId } from '../lease/names.ts';
import { DEFAULT_POLICY } from '../lease/policy.ts';
import type { TransportRequest } from '../protocol/messages/envelope.ts';
import { systemClock } from '../support/clock.ts';
import { Fault, OutcomeUnknown } from '../support/fault.ts';
import { systemTimers } from '../support/timer.ts';
import { remoteStore } from './remote-store.ts';

const ID = '01900000-0000-7000-8000-000000000001' as ExecutionId;

test('M-8: an unknown execution is undefined, and a missing project or session is a fault', async () => {
  for (const code of [
    'execution-unknown',
    'not-found',
    'project-unknown',
    'session-unknown',
  ] as const) {
    const transport = {
      name: 'refusing',
      request: () => Promise.reject(new Fault(code, 'as asked')),
      close: async () => undefined,
    };
    const hello = { project: 'default', store: 'any', durability: 'none', policy: DEFAULT_POLICY };
    const store = remoteStore({
      transport,
      hello,
      clock: systemClock,
      timers: systemTimers,
      pipelines: [],
    });
    const read = store.executions.read(ID);
    if (code === 'execution-unknown' || code === 'not-found') assert.equal(await read, undefined);
    else await assert.rejects(read, { code });
  }
});

test('X-27: the claims of a session are read page by page', async () => {
  const asked: unknown[] = [];
  const pages = [{ items: [{ fence: 3 }, { fence: 5 }], more: true }, { items: [{ fence: 8 }] }];
  const lost = new OutcomeUnknown('lost');
  const transport = {
    name: 'paging',
    request: async ({ kind, body }: TransportRequest) => {
      if (kind === 'claimExecutions') throw lost;
      asked.push(body);
      return pages.shift() as never;
    },
    close: async () => undefined,
  };
  const hello = { project: 'default', store: 'any', durability: 'none', policy: DEFAULT_POLICY };
  const { executions } = remoteStore({
    transport,
    hello,
    clock: systemClock,
    timers: systemTimers,
    pipelines: [],
  });
  const session = ID as string as SessionId;
  const claim = () => executions.claim({ session, pipelines: [], shares: [] });
  await assert.rejects(claim, lost);
  const result = await claim();
  assert.ok(result.kind === 'claimed');
  assert.deepEqual(
    result.claims.map(({ fence }) => fence),
    [3, 5, 8],
  );
  assert.deepEqual(asked, [{ id: session }, { id: session, after: 5 }]);
});

test('X-25: after a refused exit the worker still has the execution, so a list does not return it', async () => {
  for (const why of ['seq-taken', 'unread-messages']) {
    const claims = [{ fence: 3 }];
    let claimed = 0;
    const transport = {
      name: 'refusing exits',
      request: async ({ kind }: TransportRequest) => {
        if (kind === 'writeAsOwner') return { results: [{ kind: 'refused', why }] } as never;
        if (kind === 'listClaims') return { items: claims } as never;
        claimed += 1;
        if (claimed === 2) throw new OutcomeUnknown('lost');
        return { kind: 'claimed', claims: claimed === 1 ? claims : [] } as never;
      },
      close: async () => undefined,
    };
    const hello = { project: 'default', store: 'any', durability: 'none', policy: DEFAULT_POLICY };
    const { executions } = remoteStore({
      ...{ transport, hello, clock: systemClock, timers: systemTimers, pipelines: [] },
    });
    const session = ID as string as SessionId;
    const claim = () => executions.claim({ session, pipelines: [], shares: [] });
    await claim();
    await assert.rejects(claim);
    const fence = 3 as Fence;
    await executions.finish({ id: ID, session, fence, seq: 2, events: [], status: 'completed' });
    const result = await claim();
    assert.deepEqual(result.kind === 'claimed' && result.claims, [], why);
  }
});
