// The addressee and the origin of a call: endpoints of several projects at one coordinator.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handlerAnywhere } from '../../contract/transport/fake-endpoint.ts';
import { Holdfast, pipeline } from '../../src/index.ts';
import type { PushCommand, PushResult } from '../../src/protocol/messages/push.ts';
import { Signer } from '../../src/protocol/messages/signing.ts';
import { probedFrom } from '../../src/protocol/push/call-reply.ts';
import { openServer } from '../../src/server/serve.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import type { PushHandlerOptions } from '../../src/worker/push-handler.ts';
import { until } from '../server/coordinator.ts';
import { ALLOW, mounted, onEndpoint, SIGNING } from './push-stand.ts';

const OWN = { keys: { own: 'b'.repeat(32) }, current: 'own' };

function payer(rest: Partial<PushHandlerOptions> = {}) {
  const charged: unknown[] = [];
  const pay = pipeline({
    name: 'pay',
    run: (ctx, input: number) => ctx.step('charge', () => charged.push(input)),
  });
  const handler = handlerAnywhere({ pipelines: [pay], signing: SIGNING, ...rest });
  return { charged, pay, handler };
}

/** A coordinator's call, recorded by an eavesdropper. */
async function kept(): Promise<{ readonly text: string; readonly url: string }> {
  const { pay, handler } = payer();
  let call: { readonly text: string; readonly url: string } | undefined;
  const keeping = async (request: Request): Promise<Response> => {
    const text = await request.text();
    if (text.includes('"kind":"drive"')) call = { text, url: request.url };
    return handler(new Request(request.url, { method: 'POST', body: text }));
  };
  await onEndpoint({ handler: keeping, pipelines: ['pay'] }, async ({ holdfast }) => {
    await (await holdfast.submit(pay, 1)).result();
  });
  return call ?? assert.fail('no call');
}

async function resultOf(response: Response): Promise<PushResult> {
  const signer = new Signer('test', SIGNING);
  const expected = { to: 'coordinator', nowMs: Date.now() } as const;
  const verified = signer.verify<PushResult & { to: 'coordinator' }>(
    await response.text(),
    expected,
  );
  return verified.kind === 'verified' ? verified.claims : assert.fail(verified.kind);
}

test('M-13, M-15, M-28: a call runs at the endpoint that it is for, and all others deny it', async () => {
  const { text, url } = await kept();
  const elsewhere = 'https://b.example/hf';
  const sent = async (rest: Partial<PushHandlerOptions>, to: string) => {
    const { handler, charged } = payer(rest);
    const answer = await handler(new Request(to, { method: 'POST', body: text }));
    const { denied } = await resultOf(answer);
    return { denied, charged };
  };
  for (const [rest, to] of [
    // The caller chooses the headers of the request.
    [{ audience: elsewhere }, url],
    [{ audience: `${url}other` }, url],
    [{ audience: url, project: 'b' }, url],
  ] as const) {
    const { denied, charged } = await sent(rest, to);
    assert.match(denied ?? '', /The call is for|does not serve project/);
    assert.deepEqual(charged, []);
  }
  for (const [rest, to] of [
    [{ audience: url }, elsewhere],
    [{ audience: url.replace('http:', 'https:') }, url],
    [{ audience: url, project: 'default' }, 'http://behind.a.proxy/'],
  ] as const) {
    const { denied, charged } = await sent(rest, to);
    assert.equal(denied, undefined);
    assert.deepEqual(charged, [1]);
  }
});

test('M-15, M-28: a replayed call does not run its steps again', async () => {
  const { text, url } = await kept();
  const { handler, charged } = payer();
  const call = () => handler(new Request(url, { method: 'POST', body: text }));
  const answers = await Promise.all([call(), call()]);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
  assert.equal((await call()).status, 409);
  assert.deepEqual(charged, [1]);
});

test('M-13, M-15, M-28: the reply to a probe is valid for that probe only', async () => {
  const signer = new Signer('test', SIGNING);
  const { handler } = payer({ audience: 'https://b.example/hf' });
  const probed = async (nonce: string, audience = 'https://b.example/hf') => {
    const at = Date.now();
    const probe = { to: 'worker', at, until: at + 1_000, v: 1, kind: 'probe', nonce } as const;
    const command: PushCommand = { ...probe, audience, project: 'default' as never };
    const request = { method: 'POST', body: signer.sign(command) };
    return (await handler(new Request('http://here/', request))).text();
  };
  const nowMs = Date.now();
  const earlier = await probed('earlier');
  assert.equal(probedFrom(signer, earlier, { nonce: 'earlier', nowMs }).kind, 'result');
  assert.equal(probedFrom(signer, earlier, { nonce: 'later', nowMs }).kind, 'unknown');
  const other = probedFrom(signer, await probed('n', 'https://a.example/'), { nonce: 'n', nowMs });
  assert.ok(other.kind === 'unknown' && /The call is for https:\/\/a\.example\//.test(other.why));
});

test('M-13, M-15, M-28: an endpoint with its own keys is called with these, and accepts no others', async () => {
  const { handler, pay, charged } = payer({ signing: OWN, project: 'b' });
  const statuses: number[] = [];
  const endpoint = await mounted(async (request) => {
    const answer = await handler(request);
    statuses.push(answer.status);
    return answer;
  });
  const store = openMemoryStore();
  const shared = payer();
  const other = await mounted(shared.handler);
  const server = await openServer({
    ...{ store, port: 0, maintenance: false },
    push: {
      endpoints: [
        { url: endpoint.url, pipelines: ['pay'], project: 'b', signing: OWN },
        { url: other.url, pipelines: ['pay'] },
      ],
      ...{ signing: SIGNING, allow: ALLOW },
    },
  });
  const holdfast = new Holdfast({ store });
  try {
    const handles = [
      await holdfast.submit(pay, 1, { project: 'b' }),
      await holdfast.submit(pay, 2),
    ];
    await Promise.all(handles.map((each) => each.result()));
    assert.deepEqual([charged, shared.charged], [[1], [2]]);
    await until(async () => (statuses.length > 1 ? true : undefined));
    assert.deepEqual(new Set(statuses), new Set([200]));
    const { text, url } = await kept();
    const stolen = await handler(new Request(url, { method: 'POST', body: text }));
    assert.equal(stolen.status, 401);
  } finally {
    await holdfast.close();
    await server.close();
    await store.close();
    endpoint.close();
    other.close();
  }
});

test('M-13: an endpoint without signing keys is refused', async () => {
  const store = openMemoryStore();
  const endpoints = [{ url: 'https://shop.example/', pipelines: ['pay'] }];
  const push = { endpoints, allow: { hosts: ['shop.example'] } };
  await assert.rejects(
    openServer({ store, port: 0, push }),
    /push\.endpoints: signing is required/,
  );
  await store.close();
});
