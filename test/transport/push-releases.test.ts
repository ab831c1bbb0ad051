// Endpoints and releases: a pinned execution goes to the endpoint with its release, and an endpoint
// that does not respond is found.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kindsOf } from '../../contract/execution/worker.ts';
import { handlerAnywhere } from '../../contract/transport/fake-endpoint.ts';
import { HoldfastClient } from '../../src/client/client.ts';
import { workerState } from '../../src/features/releases/model.ts';
import { type Context, Holdfast, pipeline, SubmitRefused } from '../../src/index.ts';
import { openServer } from '../../src/server/serve.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import type { PushHandler } from '../../src/worker/push-handler.ts';
import { until } from '../server/coordinator.ts';
import { createKey } from './backend.ts';
import { ALLOW, type Mounted, mounted, onEndpoint, SIGNING, whenDriven } from './push-stand.ts';

const order = (expected: string) =>
  pipeline({
    name: 'order',
    async run(ctx: Context) {
      await ctx.step(expected, () => 1);
      await ctx.receive('go');
      return ctx.step('last', () => expected);
    },
  });

const digestOf = (name: string): string => `sha256:${name}`;

function handlerOf(
  name: string,
  rest: Partial<Parameters<typeof handlerAnywhere>[0]> = {},
): PushHandler {
  const release = { name, digest: digestOf(name) };
  return handlerAnywhere({ pipelines: [order(name)], signing: SIGNING, release, ...rest });
}

async function register(holdfast: Holdfast, ...names: readonly string[]): Promise<void> {
  for (const name of names) {
    const artifact = { artifact: 'image', digest: digestOf(name) };
    const given = { pipeline: order('any'), name, ...artifact };
    assert.equal((await holdfast.releases.register(given)).kind, 'registered');
  }
}

/** The workers, as an operator sees them. */
async function statesOf({ executions }: CoordinatorStore): Promise<readonly string[]> {
  const { now } = await executions.dueSchedules({ limit: 1 });
  const all = await executions.workers({ limit: 99 });
  return all.map((each) => `${workerState(each, now)} ${each.release}`);
}

async function onEndpoints(
  handlers: readonly PushHandler[],
  play: (holdfast: Holdfast, store: CoordinatorStore, url: string) => Promise<void>,
): Promise<void> {
  const endpoints: Mounted[] = [];
  for (const each of handlers) endpoints.push(await mounted(each));
  const store = openMemoryStore();
  const holdfast = new Holdfast({ store });
  await register(holdfast, 'v1', 'v2');
  const server = await openServer({
    ...{ store, port: 0, maintenance: false },
    push: {
      endpoints: endpoints.map(({ url }) => ({ url, pipelines: ['order'] })),
      ...{ signing: SIGNING, allow: ALLOW, probeMs: 100 },
      circuit: { failuresMax: 2, cooldownMs: 100 },
    },
  });
  try {
    await play(holdfast, store, server.url);
  } finally {
    await holdfast.close();
    await server.close();
    await store.close();
    for (const each of endpoints) each.close();
  }
}

async function waiting(holdfast: Holdfast, id: Parameters<Holdfast['read']>[0]): Promise<void> {
  await until(async () => ((await holdfast.read(id))?.status === 'waiting' ? true : undefined));
}

test('RE-9, M-15: executions end at the endpoint that has the release they are pinned to', () =>
  onEndpoints([handlerOf('v1'), handlerOf('v2')], async (holdfast, store) => {
    await holdfast.releases.activate('order', 'v1', { actor: 'ann' });
    const before = await holdfast.submit(order('any'), undefined);
    await waiting(holdfast, before.id);
    await holdfast.releases.activate('order', 'v2', { actor: 'ann' });
    const after = await holdfast.submit(order('any'), undefined);
    for (const { id } of [before, after]) await holdfast.signal(id, { name: 'go', value: 1 });
    assert.deepEqual([await before.result(), await after.result()], ['v1', 'v2']);
    // An endpoint that was silent for a while is not ready before the next probe.
    await until(async () => {
      const states = new Set(await statesOf(store));
      return states.has('ready v1') && states.has('ready v2') ? true : undefined;
    });
  }));

test('RE-9: an endpoint with an unregistered artifact gets no pinned execution', async () => {
  const forged = { name: 'v1', digest: 'sha256:forged' };
  await onEndpoints([handlerOf('v1', { release: forged })], async (holdfast, store, url) => {
    const free = await holdfast.submit(order('any'), undefined);
    await waiting(holdfast, free.id);
    await holdfast.releases.activate('order', 'v1', { actor: 'ann' });
    const pinned = await holdfast.submit(order('any'), undefined);
    const next = await holdfast.submit(order('any'), undefined, { release: 'v2' });
    await holdfast.signal(free.id, { name: 'go', value: 1 });
    assert.equal(await free.result(), 'v1');
    for (const { id } of [pinned, next]) assert.equal((await holdfast.read(id))?.status, 'queued');
    await until(async () =>
      (await statesOf(store)).every((state) => state === 'ready undefined') ? true : undefined,
    );
    const client = new HoldfastClient({ url, key: await createKey(store, 'default', ['operate']) });
    const [{ refused } = {}] = (await client.sessions.workers()).items;
    assert.match(
      refused?.detail ?? '',
      /digest sha256:forged; the registered digest is sha256:v1\./,
    );
  });
});

test('M-16, RE-9: an execution pinned to a build that is no longer deployed is given back, and costs no attempt', async () => {
  let deployed = handlerOf('v1');
  const url = whenDriven(
    (request) => deployed(request),
    async (request) => {
      // The deploy happens between the claim and the call.
      if (deployed === first) deployed = handlerOf('v2');
      return deployed(request);
    },
  );
  const first = deployed;
  await onEndpoints([url], async (holdfast, store) => {
    await holdfast.releases.activate('order', 'v1', { actor: 'ann' });
    const { id } = await holdfast.submit(order('any'), undefined);
    await until(async () => {
      const states = await statesOf(store);
      return states.includes('ready v2') ? true : undefined;
    });
    assert.deepEqual(await kindsOf(store, id), ['submitted', 'claimed', 'given-back']);
    const now = await store.executions.read(id);
    assert.deepEqual([now?.status, now?.claimsWithoutProgress], ['queued', 0]);
  });
});

test('RE-10: an endpoint with a coordinator connection replays executions that a release would break', async () => {
  let way = { url: '', key: '' };
  const release = { name: 'v2', digest: digestOf('v2') };
  const lazily: PushHandler = (request) =>
    handlerAnywhere({ pipelines: [order('bill')], signing: SIGNING, release, coordinator: way })(
      request,
    );
  await onEndpoint({ handler: lazily, pipelines: ['order'] }, async ({ holdfast, store, url }) => {
    way = { url, key: await createKey(store, 'default') };
    await register(holdfast, 'v1', 'v2');
    await holdfast.releases.activate('order', 'v1', { actor: 'ann' });
    const worker = await holdfast.worker({
      pipelines: [order('charge')],
      release: { name: 'v1', digest: digestOf('v1') },
    });
    const { id } = await holdfast.submit(order('charge'), undefined);
    await waiting(holdfast, id);
    await worker.stop();
    const found = await holdfast.releases.preflight('order', 'v2');
    assert(found.kind === 'replayed');
    assert.deepEqual([found.breaking, found.replayed, found.broken[0]?.execution], [true, 1, id]);
  });
});

test('RE-11, RE-12: an endpoint that does not respond is stuck after two periods, and ready when it does', async () => {
  let isSilent = false;
  const handler = handlerOf('v1');
  const moody: PushHandler = (request) =>
    isSilent ? Promise.resolve(new Response('', { status: 500 })) : handler(request);
  await onEndpoints([moody], async (holdfast, store) => {
    const asking = { ifNoWorker: 'refuse' } as const;
    const all = async (state: string) =>
      until(async () => {
        const states = await statesOf(store);
        return states.length > 0 && states.every((each) => each === state) ? true : undefined;
      });
    await all('ready v1');
    const { id } = await holdfast.submit(order('any'), undefined, asking);
    await waiting(holdfast, id);
    isSilent = true;
    await all('stuck v1');
    await assert.rejects(holdfast.submit(order('any'), undefined, asking), SubmitRefused);
    isSilent = false;
    await all('ready v1');
    assert.equal((await holdfast.submit(order('any'), undefined, asking)).existing, false);
  });
});

test('M-16, M-30: after its circuit was open, an endpoint is probed before anything is claimed for it', async () => {
  const kinds: string[] = [];
  const handler = handlerOf('v1');
  const failing: PushHandler = async (request) => {
    const body = await request.text();
    const kind = body.includes('"kind":"probe"') ? 'probe' : 'drive';
    kinds.push(kind);
    if (kind === 'drive' && kinds.filter((each) => each === 'drive').length === 1) {
      return new Response('', { status: 503 });
    }
    return handler(new Request(request.url, { method: 'POST', body }));
  };
  const circuit = { failuresMax: 1, cooldownMs: 50 };
  const given = { handler: failing, pipelines: ['order'], circuit, probeMs: 60_000 };
  await onEndpoint(given, async ({ holdfast }) => {
    const { id } = await holdfast.submit(order('any'), undefined);
    await waiting(holdfast, id);
    assert.deepEqual(kinds, ['probe', 'drive', 'probe', 'drive']);
  });
});
