import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { kindsOf, mustSubmit, worker } from '../../contract/execution/worker.ts';
import { handlerAnywhere } from '../../contract/transport/fake-endpoint.ts';
import { HoldfastClient } from '../../src/client/client.ts';
import { parseExecutionId, parsePipelineName } from '../../src/execution/names.ts';
import { type Holdfast, pipeline, question } from '../../src/index.ts';
import type { PushCommand } from '../../src/protocol/messages/push.ts';
import { Signer } from '../../src/protocol/messages/signing.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { StoreUnavailable } from '../../src/support/fault.ts';
import { until } from '../server/coordinator.ts';
import { createKey } from './backend.ts';
import type { Mount } from './push-mounts.ts';
import { onEndpoint, SIGNING, whenDriven } from './push-stand.ts';

const three = pipeline({
  name: 'three',
  async run(ctx, n: number) {
    const one = await ctx.step('one', () => n + 1);
    const two = await ctx.step('two', () => one * 2);
    return ctx.step('three', () => two + 1);
  },
});

const handler = handlerAnywhere({ pipelines: [three], signing: SIGNING });

test('M-15: with a coordinator connection each step is recorded before the next one runs', async () => {
  let url = '';
  let key = '';
  const seen: number[] = [];
  let holdfast: Holdfast | undefined;
  const careful = pipeline({
    name: 'careful',
    async run(ctx) {
      await ctx.step('first', () => 1);
      return ctx.step('second', async () => {
        const events = (await holdfast?.history(ctx.id)) ?? [];
        seen.push(events.filter(({ kind }) => kind === 'step-completed').length);
        return 'done';
      });
    },
  });
  const lazily = (request: Request): Promise<Response> =>
    handlerAnywhere({ pipelines: [careful], signing: SIGNING, coordinator: { url, key } })(request);
  await onEndpoint({ handler: lazily, pipelines: ['careful'] }, async (stand) => {
    holdfast = stand.holdfast;
    url = stand.url;
    key = await createKey(stand.store, 'default');
    assert.equal(await (await holdfast.submit(careful, undefined)).result(), 'done');
    assert.deepEqual(seen, [1]);
  });
});

test('M-9: a cancel reaches a running step at an endpoint with a coordinator connection, before its call is over', async () => {
  const reached = Promise.withResolvers<void>();
  let way = { url: '', key: '' };
  const waits = pipeline({
    name: 'waits',
    run: (ctx) =>
      ctx.step('long', async ({ signal }) => {
        reached.resolve();
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        throw signal.reason;
      }),
  });
  const lazily = (request: Request): Promise<Response> =>
    handlerAnywhere({ pipelines: [waits], signing: SIGNING, coordinator: way })(request);
  // A call may take a minute, so a cancel that waited for its end would come too late.
  await onEndpoint({ handler: lazily, pipelines: ['waits'] }, async ({ holdfast, store, url }) => {
    way = { url, key: await createKey(store, 'default') };
    const handle = await holdfast.submit(waits, undefined);
    await reached.promise;
    await holdfast.cancel(handle.id);
    await assert.rejects(handle.result());
    assert.equal((await holdfast.read(handle.id))?.status, 'cancelled');
    assert.equal((await kindsOf(store, handle.id)).filter((kind) => kind === 'claimed').length, 1);
  });
});

test('M-9, M-15: a waiting execution is called again with its new messages', async () => {
  const asks = pipeline({
    name: 'asks',
    async run(ctx) {
      const before = await ctx.step('before', () => 'asked');
      const received = await ctx.receive<string>('answer');
      return `${before}, ${received}`;
    },
  });
  const asking = handlerAnywhere({ pipelines: [asks], signing: SIGNING });
  await onEndpoint({ handler: asking, pipelines: ['asks'] }, async ({ holdfast }) => {
    const handle = await holdfast.submit(asks, undefined);
    await until(async () =>
      (await holdfast.read(handle.id))?.status === 'waiting' ? true : undefined,
    );
    await holdfast.signal(handle.id, { name: 'answer', value: 'heard' });
    assert.equal(await handle.result(), 'asked, heard');
  });
});

test('M-8, M-13: a result without a valid signature is not written; the next call has a higher fence', async () => {
  const fences: number[] = [];
  const forged = handlerAnywhere({ pipelines: [three], signing: SIGNING });
  let calls = 0;
  const turning = async (request: Request): Promise<Response> => {
    calls += 1;
    const response = await forged(request);
    if (calls > 1) return response;
    return new Response((await response.text()).replace('"completed"', '"cancelled"'));
  };
  await onEndpoint(
    { handler: whenDriven(handler, turning), pipelines: ['three'] },
    async ({ holdfast, store }) => {
      const { id, result } = await holdfast.submit(three, 1).then((handle) => ({
        id: handle.id,
        result: handle.result(),
      }));
      assert.equal(await result, 5);
      const events = await store.executions.history({ id, after: 0, limit: 100 });
      fences.push(
        ...events.filter(({ kind }) => kind === 'claimed').map(({ fence }) => fence ?? 0),
      );
      assert.equal(fences.length, 2);
      assert.ok((fences[1] ?? 0) > (fences[0] ?? 0));
    },
  );
});

test('M-3, M-15: a result that comes after a takeover is refused by its fence', async () => {
  const called = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const slow = async (request: Request): Promise<Response> => {
    const response = await handler(request);
    called.resolve();
    await released.promise;
    return response;
  };
  await onEndpoint(
    // The slow call is its only one, so only the worker can take the execution over.
    { handler: whenDriven(handler, slow), pipelines: ['three'], capacity: 1 },
    async ({ holdfast, store }) => {
      const handle = await holdfast.submit(three, 1);
      await called.promise;
      const session = (await store.executions.read(handle.id))?.session;
      assert.ok(session !== undefined);
      const by = { kind: 'operator', actor: 'olga', reason: 'too slow' } as const;
      await store.sessions.end({ id: session, by });
      const worker = await holdfast.worker({ pipelines: [three], pollMs: 20 });
      assert.equal(await handle.result(), 5);
      const before = await kindsOf(store, handle.id);
      released.resolve();
      await worker.stop();
      assert.deepEqual(await kindsOf(store, handle.id), before);
    },
  );
});

test('M-16: an endpoint that turns calls away is left alone for a while, and no attempt is counted', async () => {
  let calls = 0;
  const full = async (request: Request): Promise<Response> => {
    calls += 1;
    return calls <= 2 ? new Response('full', { status: 503 }) : handler(request);
  };
  const circuit = { failuresMax: 1, cooldownMs: 300 };
  await onEndpoint(
    { handler: whenDriven(handler, full), pipelines: ['three'], circuit },
    async ({ holdfast, store }) => {
      const handle = await holdfast.submit(three, 1);
      assert.equal(await handle.result(), 5);
      assert.equal(calls, 3);
      const kinds = await kindsOf(store, handle.id);
      assert.equal(kinds.filter((kind) => kind === 'given-back').length, 2);
      assert.equal((await store.executions.read(handle.id))?.claimsWithoutProgress, 0);
    },
  );
});

test('M-16, M-29: calls that fail while probes pass cost no claim, are repeated ever later, and go one at a time', async () => {
  const calls: number[] = [];
  const broken = async (request: Request): Promise<Response> => {
    calls.push(calls.length);
    return calls.length <= 3 ? new Response('bad gateway', { status: 502 }) : handler(request);
  };
  const circuit = { failuresMax: 1, cooldownMs: 100 };
  const held = whenDriven(handler, broken);
  await onEndpoint({ handler: held, pipelines: ['three'], circuit }, async (stand) => {
    const { holdfast, store } = stand;
    const handles = await Promise.all([1, 2].map((n) => holdfast.submit(three, n)));
    assert.deepEqual(await Promise.all(handles.map((each) => each.result())), [5, 7]);
    assert.equal(calls.length, 5);
    for (const { id } of handles) {
      const events = await store.executions.history({ id, after: 0, limit: 100 });
      const left = events.filter(({ kind }) => kind === 'given-back');
      for (const [nth, { seq, at, body }] of left.entries()) {
        const { why, by, reason, abandoned } = JSON.parse(body ?? '{}');
        assert.deepEqual(
          [why, reason, abandoned],
          ['call-failed', 'it responded with status 502', true],
        );
        assert.match(by, /^endpoint 127/);
        const again = events.find((event) => event.kind === 'claimed' && event.seq > seq);
        assert.ok(
          (again?.at ?? 0) - at >= 1_000 * 2 ** nth,
          `called again at ${again?.at}, not later than ${at}`,
        );
      }
      const claims = events.filter(({ kind }) => kind === 'claimed');
      assert.deepEqual(
        claims.map(({ body }) => JSON.parse(body ?? '{}').previous),
        ['none', ...left.map(() => 'given-back')],
      );
    }
  });
});

test('M-16, M-29: after a store outage during the one call of an open circuit, the endpoint is called again', async () => {
  let calls = 0;
  let outages = 0;
  const failing = async (request: Request): Promise<Response> => {
    calls += 1;
    return calls === 1 ? new Response('bad gateway', { status: 502 }) : handler(request);
  };
  const through = (store: CoordinatorStore): CoordinatorStore => ({
    ...store,
    executions: {
      ...store.executions,
      history(query) {
        if (calls !== 1 || outages > 0) return store.executions.history(query);
        outages += 1;
        return Promise.reject(new StoreUnavailable('The store is away.'));
      },
    },
  });
  const circuit = { failuresMax: 1, cooldownMs: 100 };
  const held = whenDriven(handler, failing);
  await onEndpoint({ handler: held, pipelines: ['three'], circuit, through }, async (stand) => {
    const handle = await stand.holdfast.submit(three, 1);
    assert.equal(await handle.result(), 5);
  });
  assert.deepEqual([calls, outages], [2, 1]);
});

test('P-18: large responses of a project wait before they are read', async () => {
  const driven: ServerResponse[] = [];
  let taken = 0;
  // More than both kernels buffer, of a response that does not end.
  const part = Buffer.alloc(16 * 1024 * 1024, ' ');
  const mount: Mount = async (answers) =>
    createServer(async (incoming, response) => {
      const body = await text(incoming);
      if (body.includes('"kind":"probe"')) {
        const own = `http://${incoming.headers.host}${incoming.url}`;
        const request = new Request(own, { method: 'POST', body });
        response.end(await (await answers(request)).text());
        return;
      }
      driven.push(response);
      response.write(part, () => {
        taken += 1;
      });
    });
  const given = { handler, mount, pipelines: ['three'], capacity: 3 };
  await onEndpoint(given, async ({ holdfast, url }) => {
    for (const n of [1, 2, 3]) await holdfast.submit(three, n);
    await until(async () => (driven.length >= 3 && taken >= 2 ? true : undefined));
    for (let nth = 0; nth < 20; nth += 1) await fetch(`${url}/healthz`);
    assert.equal(taken, 2, 'the third waits for room');
    for (const each of driven) if (each.writableLength === 0) each.destroy();
    await until(async () => (taken >= 3 ? true : undefined));
    for (const each of driven) each.destroy();
  });
});

test('M-16: an endpoint without the pipeline denies it, and the execution goes to one that has it', async () => {
  const other = handlerAnywhere({
    pipelines: [pipeline({ name: 'other', run: () => 1 })],
    signing: SIGNING,
  });
  const forgetful = whenDriven(handler, other);
  await onEndpoint({ handler: forgetful, pipelines: ['three'] }, async ({ holdfast }) => {
    const handle = await holdfast.submit(three, 1);
    await until(async () => {
      const events = await holdfast.history(handle.id);
      return events.some(({ kind }) => kind === 'given-back') ? true : undefined;
    });
    await using _worker = await holdfast.worker({ pipelines: [three], pollMs: 20 });
    assert.equal(await handle.result(), 5);
  });
});

test('M-15, M-27: a redirect is not followed', async () => {
  let calls = 0;
  const moved = async (request: Request): Promise<Response> => {
    calls += 1;
    if (calls > 1) return handler(request);
    return new Response('', { status: 307, headers: { location: 'http://169.254.169.254/' } });
  };
  await onEndpoint(
    { handler: whenDriven(handler, moved), pipelines: ['three'] },
    async ({ holdfast }) => {
      assert.equal(await (await holdfast.submit(three, 1)).result(), 5);
      assert.equal(calls, 2);
    },
  );
});

test('M-13: a handler ignores unsigned and expired calls, and answers a probe', async () => {
  const signer = new Signer('test', SIGNING);
  const strange = new Signer('test', { keys: { k: 'x'.repeat(32) }, current: 'k' });
  const at = Date.now();
  const of = { audience: 'https://any/', project: 'default' } as const;
  const probe = { to: 'worker', at, until: at + 1_000, v: 1, kind: 'probe', ...of } as const;
  const call = (body: string): Promise<Response> =>
    handler(new Request('http://any/', { method: 'POST', body }));
  const old = { ...probe, until: at - 3_600_000 };
  const turned = { ...probe, to: 'coordinator' } as const;
  for (const text of [
    ...['', 'hello', signer.sign(old), strange.sign(probe), signer.sign(turned)],
    signer.sign(probe).replace('probe', 'drive'),
  ]) {
    assert.equal((await call(text)).status, 401);
  }
  const text = await (await call(signer.sign(probe))).text();
  const verified = signer.verify(text, { to: 'coordinator', nowMs: Date.now() });
  assert.equal(verified.kind, 'verified');
  assert.match(text, /"pipelines":\["three"\]/);
});

test('M-8, M-15, M-26: an answer that leaves the execution running does not end its claim: it is claimed again', async () => {
  let calls = 0;
  const signer = new Signer('test', SIGNING);
  const idle = async (request: Request): Promise<Response> => {
    calls += 1;
    if (calls > 1) return handler(request);
    const verified = signer.verify<PushCommand>(await request.text(), {
      ...{ to: 'worker', nowMs: Date.now() },
    });
    assert(verified.kind === 'verified');
    const { execution, fence } = verified.claims.drive?.claimed ?? assert.fail('a claim');
    const at = Date.now();
    const claims = {
      to: 'coordinator',
      at,
      until: at + 1_000,
      v: 1,
      id: execution.id,
      fence,
    } as const;
    return new Response(signer.sign(claims));
  };
  await onEndpoint(
    { handler: whenDriven(handler, idle), pipelines: ['three'] },
    async ({ holdfast }) => {
      assert.equal(await (await holdfast.submit(three, 1)).result(), 5);
      assert.equal(calls, 2);
    },
  );
});

test('M-12: an endpoint with a coordinator connection validates the answers to its questions', async () => {
  let way = { url: '', key: '' };
  const percent = question({
    name: 'percent',
    project(_: undefined, answer: number) {
      if (answer > 50) throw new Error('that is too much');
      return answer;
    },
  });
  const offer = pipeline({
    name: 'offer',
    awaits: [percent],
    async run(ctx) {
      const answer = await ctx.await(percent);
      return answer.kind === 'answered' ? answer.value : answer.kind;
    },
  });
  const lazily = (request: Request): Promise<Response> =>
    handlerAnywhere({ pipelines: [offer], signing: SIGNING, coordinator: way })(request);
  await onEndpoint({ handler: lazily, pipelines: ['offer'] }, async ({ holdfast, store, url }) => {
    way = { url, key: await createKey(store, 'default') };
    const key = await createKey(store, 'default', ['submit', 'operate']);
    const client = new HoldfastClient({ url, key });
    const handle = await holdfast.submit(offer, undefined);
    const id = await until(async () => (await client.awaits.list()).items[0]?.id);
    await assert.rejects(client.awaits.answer(id, 60), /that is too much/);
    await client.awaits.answer(id, 10);
    assert.equal(await handle.result(), 10);
  });
});

test('M-16: no more calls are under way than the endpoint has slots, and all are made', async () => {
  let now = 0;
  let most = 0;
  const counting = async (request: Request): Promise<Response> => {
    now += 1;
    most = Math.max(most, now);
    const answer = await handler(request);
    now -= 1;
    return answer;
  };
  const full = whenDriven(handler, counting);
  await onEndpoint({ handler: full, pipelines: ['three'], capacity: 2 }, async ({ holdfast }) => {
    const handles = await Promise.all([1, 2, 3, 4, 5, 6].map((n) => holdfast.submit(three, n)));
    const results = await Promise.all(handles.map((each) => each.result()));
    assert.deepEqual(results, [5, 7, 9, 11, 13, 15]);
    assert.ok(most <= 2, `${most} at once`);
  });
});

test("X-7, M-15: a dead worker's execution is pushed, even without any other worker", async () => {
  const id = parseExecutionId('01900000-0000-7000-8000-0000000000dd');
  const first = async (store: CoordinatorStore): Promise<void> => {
    const ann = await worker(store, 'ann', { ttlMs: 1_000, graceMs: 0 });
    await mustSubmit(store, { id, pipeline: parsePipelineName('three') });
    const pipelines = [parsePipelineName('three')];
    const shares = [{ lane: 'interactive', limit: 1 }] as const;
    const answer = await store.executions.claim({ session: ann.id, pipelines, shares });
    assert.ok(answer.kind === 'claimed' && answer.claims.length === 1);
  };
  await onEndpoint({ handler, pipelines: ['three'], first }, async ({ store }) => {
    await until(async () =>
      (await kindsOf(store, id)).filter((kind) => kind === 'claimed').length > 1 ? true : undefined,
    );
    const kinds = await kindsOf(store, id);
    assert.equal(kinds.filter((kind) => kind === 'claimed').length, 2);
  });
});
