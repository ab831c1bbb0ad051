import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HoldfastClient } from '../../src/client/client.ts';
import { newKey, writeKey } from '../../src/features/access/model.ts';
import { pipeline } from '../../src/index.ts';
import { ROUTES } from '../../src/protocol/rest/routes.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { systemClock } from '../../src/support/clock.ts';
import { StoreUnavailable } from '../../src/support/fault.ts';
import { TestCoordinator } from './coordinator.ts';

test('healthz reports a live process, readyz a store that responds', async () => {
  const store = openMemoryStore();
  let isAway = false;
  const away = {
    ...store,
    access: {
      ...store.access,
      project: (name: Parameters<typeof store.access.project>[0]) =>
        isAway ? Promise.reject(new Error('away')) : store.access.project(name),
    },
  };
  let nowMs = 0;
  const clock = { ...systemClock, monotonicMs: () => nowMs };
  await using coordinator = await TestCoordinator.open({ store: away, clock });
  const status = async (path: string): Promise<number> =>
    (await fetch(`${coordinator.url}${path}`)).status;
  assert.deepEqual([await status('/healthz'), await status('/readyz')], [200, 200]);
  isAway = true;
  nowMs += 1_000;
  assert.deepEqual([await status('/healthz'), await status('/readyz')], [200, 503]);
});

test('readiness probes within a second share one read of the store', async () => {
  const store = openMemoryStore();
  let reads = 0;
  const counted = {
    ...store,
    access: {
      ...store.access,
      project: (name: Parameters<typeof store.access.project>[0]) => {
        reads += 1;
        return store.access.project(name);
      },
    },
  };
  let nowMs = 0;
  const clock = { ...systemClock, monotonicMs: () => nowMs };
  await using coordinator = await TestCoordinator.open({ store: counted, clock });
  const ask = async (): Promise<number> => (await fetch(`${coordinator.url}/readyz`)).status;
  reads = 0;
  const asked = await Promise.all(Array.from({ length: 20 }, ask));
  assert.deepEqual([reads, new Set(asked)], [1, new Set([200])]);
  nowMs += 1_000;
  await ask();
  assert.equal(reads, 2);
});

test('a sealed store is not ready, and callers without a key do not learn where it was exported to', async () => {
  let nowMs = 0;
  const clock = { ...systemClock, monotonicMs: () => nowMs };
  await using coordinator = await TestCoordinator.onMemory({ clock });
  const { store, url } = coordinator;
  const seal = { actor: 'olga', reason: 'a larger machine', to: 'shop.ndjson' };
  await store.seals.seal({ ...seal, id: '00000000-0000-4000-8000-000000000001' });
  const response = await fetch(`${url}/readyz`);
  const { code, detail } = (await response.json()) as { code: string; detail: string };
  assert.deepEqual([response.status, code], [503, 'store-sealed']);
  assert.match(detail, /cannot do this now/);
  assert.doesNotMatch(detail, /shop\.ndjson|larger machine/);
  assert.equal((await fetch(`${url}/healthz`)).status, 200);
  await store.seals.unseal({ actor: 'olga', reason: 'given up' });
  nowMs += 1_000;
  assert.equal((await fetch(`${url}/readyz`)).status, 200);
});

test('errors show the store’s address to callers with a key only', async () => {
  const store = openMemoryStore();
  let isAway = false;
  const away = (): Promise<never> =>
    Promise.reject(new StoreUnavailable('connect ECONNREFUSED 10.0.0.7:5432'));
  const { access, executions } = store;
  const failing = {
    ...store,
    executions: {
      ...executions,
      list: (query: never) => (isAway ? away() : executions.list(query)),
    },
    access: { ...access, key: (id: string) => (isAway ? away() : access.key(id)) },
  };
  const log = { info: () => undefined, fault: () => undefined };
  await using coordinator = await TestCoordinator.open({ store: failing as never, log });
  const key = await coordinator.key(['operate'], 'default');
  const detail = async (bearer: string): Promise<string> => {
    const headers = { authorization: `Bearer ${bearer}` };
    const response = await fetch(`${coordinator.url}/v1/executions`, { headers });
    return ((await response.json()) as { detail: string }).detail;
  };
  await detail(key);
  isAway = true;
  assert.match(await detail(key), /10\.0\.0\.7/);
  const unknown = await detail(writeKey(newKey()));
  assert.match(unknown, /cannot do this now/);
  assert.doesNotMatch(unknown, /10\.0\.0\.7/);
});

test('a store that does not respond within a second is not ready', async () => {
  const store = openMemoryStore();
  let isHanging = false;
  const hanging = {
    ...store,
    access: {
      ...store.access,
      project: (name: Parameters<typeof store.access.project>[0]) =>
        isHanging ? new Promise<never>(() => undefined) : store.access.project(name),
    },
  };
  await using coordinator = await TestCoordinator.open({ store: hanging });
  isHanging = true;
  assert.equal((await fetch(`${coordinator.url}/readyz`)).status, 503);
});

test('metrics are for operators, or public if configured', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const url = `${coordinator.url}/metrics`;
  assert.equal((await fetch(url)).status, 401);
  const authorization = `Bearer ${await coordinator.key(['operate'])}`;
  await fetch(`${coordinator.url}/v1/executions`, { headers: { authorization } });
  const response = await fetch(url, { headers: { authorization } });
  assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=/);
  const text = await response.text();
  assert.match(text, /holdfast_http_requests_total\{route="listExecutions",status="200"\} 1/);
  assert.match(text, /holdfast_http_held 0/);
  await using open = await TestCoordinator.onMemory({ publicMetrics: true });
  assert.equal((await fetch(`${open.url}/metrics`)).status, 200);
});

test('without prom-client nothing is counted, and the error names the package to install', async () => {
  const route = ROUTES.find(({ name }) => name === 'readMetrics');
  const answer = route?.handle({ metrics: undefined } as never, {} as never);
  await assert.rejects(Promise.resolve(answer), /npm install prom-client/);
});

test('the admin routes can be on another listener, or off', async () => {
  await using off = await TestCoordinator.onMemory({ admin: 'off' });
  await using apart = await TestCoordinator.onMemory({ admin: { port: 0 } });
  const authorization = `Bearer ${await apart.key(['admin', 'submit'])}`;
  const status = async (url = ''): Promise<number> =>
    (await fetch(url, { headers: { authorization } })).status;
  assert.equal(await status(`${off.url}/v1/projects`), 404);
  assert.equal(await status(`${apart.url}/v1/projects`), 404);
  assert.equal(await status(`${apart.server.adminUrl}/v1/projects`), 200);
  assert.equal(await status(`${apart.server.adminUrl}/v1/executions`), 404);
  const rollout = `${off.url}/v1/pipelines/order/rollout`;
  assert.equal(await status(rollout), 401);
  const body = JSON.stringify({ action: 'activate', name: 'v1' });
  const headers = { authorization, 'content-type': 'application/json' };
  const refused = await fetch(rollout, { method: 'POST', headers, body });
  assert.match(await refused.text(), /admin-off.*--admin main/s);
  assert.equal(await status(`${apart.server.adminUrl}/healthz`), 200);
});

const retried = pipeline({
  name: 'retried',
  async run(ctx) {
    const retry = { attempts: 2, initialMs: 1 };
    await ctx.step(
      'flaky',
      ({ attempt }) => {
        if (attempt === 1) throw new Error('again');
      },
      { retry },
    );
  },
});

test('metrics count submits, waits, steps, retries, ends, and ready and running executions', async () => {
  await using coordinator = await TestCoordinator.open({ publicMetrics: true });
  const client = await coordinator.client(['submit'], 'default');
  await client.executions.submit({ pipeline: 'waits', lane: 'batch' });
  await coordinator.worker([retried]);
  const { id } = await client.executions.submit({ pipeline: 'retried' });
  await client.executions.result(id);
  const text = await (await fetch(`${coordinator.url}/metrics`)).text();
  const counted = (name: string): number =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.slice(name.length + 1),
    );
  const own = 'pipeline="retried"';
  assert.equal(counted(`holdfast_executions_submitted_total{${own},lane="interactive"}`), 1);
  const waiting = 'pipeline="waits",lane="batch"';
  assert.equal(counted(`holdfast_executions_submitted_total{${waiting}}`), 1);
  assert.ok(counted(`holdfast_claims_total{${own}}`) >= 1, 'again after a long attempt');
  assert.equal(counted(`holdfast_executions_ended_total{${own},status="completed"}`), 1);
  assert.equal(counted(`holdfast_steps_total{${own},outcome="retried"}`), 1);
  assert.equal(counted(`holdfast_steps_total{${own},outcome="completed"}`), 1);
  assert.equal(counted('holdfast_claim_wait_seconds_count'), 1);
  assert.equal(counted('holdfast_executions_ready{lane="batch"}'), 1);
  assert.equal(counted('holdfast_executions_running{lane="interactive"}'), 0);
  assert.doesNotMatch(text, /"default"/, 'no project is a label');
});

test('readers of metrics share one count of ready executions for a second', async () => {
  const memory = openMemoryStore();
  let counts = 0;
  const executions: typeof memory.executions = {
    ...memory.executions,
    depth: (query) => {
      counts += 1;
      return memory.executions.depth(query);
    },
  };
  let nowMs = 0;
  const clock = { ...systemClock, monotonicMs: () => nowMs };
  const store = { ...memory, executions };
  await using coordinator = await TestCoordinator.open({ store, clock, publicMetrics: true });
  const read = async (): Promise<number> => (await fetch(`${coordinator.url}/metrics`)).status;
  await Promise.all(Array.from({ length: 20 }, read));
  await read();
  assert.equal(counts, 1);
  nowMs += 1_000;
  assert.equal(await read(), 200);
  assert.equal(counts, 2);
});

test('however many browsers show the overview, the store counts once per second', async () => {
  const memory = openMemoryStore();
  const counts = { figures: 0, endedCounts: 0 };
  const executions: typeof memory.executions = {
    ...memory.executions,
    figures: (query) => {
      counts.figures += 1;
      return memory.executions.figures(query);
    },
    endedCounts: (query) => {
      counts.endedCounts += 1;
      return memory.executions.endedCounts(query);
    },
  };
  let nowMs = 0;
  const clock = { ...systemClock, monotonicMs: () => nowMs, wallMs: () => 1_800_000_000_000 };
  const store = { ...memory, executions };
  await using coordinator = await TestCoordinator.open({ store, clock, auth: 'off' });
  const readAll = async (): Promise<void> => {
    const paths = Array.from({ length: 20 }, () => ['overview', 'trends']).flat();
    const replies = await Promise.all(paths.map((path) => fetch(`${coordinator.url}/v1/${path}`)));
    assert.ok(replies.every(({ status }) => status === 200));
  };
  await readAll();
  await readAll();
  assert.deepEqual(counts, { figures: 1, endedCounts: 2 });
  nowMs += 1_000;
  await readAll();
  assert.deepEqual(counts, { figures: 2, endedCounts: 4 });
});

test('a key of one project reads the counts of that project only', async () => {
  await using coordinator = await TestCoordinator.open();
  const ended = pipeline({ name: 'ended', run: (ctx) => ctx.step('s', () => 1) });
  for (const [project, count] of [
    ['ours', 1],
    ['theirs', 2],
  ] as const) {
    await coordinator.worker([ended], { project });
    const client = await coordinator.client(['submit'], project);
    for (let n = 0; n < count; n += 1) {
      await client.executions.submit({ pipeline: 'nobody', lane: 'batch' });
      const { id } = await client.executions.submit({ pipeline: 'ended' });
      await client.executions.result(id);
    }
  }
  const counts = async (project?: string): Promise<readonly (string | undefined)[]> => {
    const authorization = `Bearer ${await coordinator.key(['operate'], project)}`;
    const response = await fetch(`${coordinator.url}/metrics`, { headers: { authorization } });
    const text = await response.text();
    assert.equal(/holdfast_http_/.test(text), project === undefined, 'requests are of all of them');
    const lines = text.split('\n');
    return [
      'holdfast_executions_submitted_total{pipeline="ended",lane="interactive"}',
      'holdfast_executions_ended_total{pipeline="ended",status="completed"}',
      'holdfast_steps_total{pipeline="ended",outcome="completed"}',
      'holdfast_claim_wait_seconds_count',
      'holdfast_executions_ready{lane="batch"}',
    ].map((name) => lines.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1));
  };
  assert.deepEqual(await counts('ours'), ['1', '1', '1', '1', '1']);
  assert.deepEqual(await counts('theirs'), ['2', '2', '2', '2', '2']);
  assert.deepEqual(await counts(), ['3', '3', '3', '3', '3']);
});

test('the trace of a submit reaches each attempt of each step, and its children; an invalid one is dropped', async () => {
  await using coordinator = await TestCoordinator.open();
  const seen: unknown[] = [];
  const child = pipeline({
    name: 'child',
    run: (ctx) => ctx.step('look', ({ traceparent }) => void seen.push(traceparent)),
  });
  const parent = pipeline({
    name: 'parent',
    async run(ctx) {
      seen.push(ctx.traceparent);
      await ctx.step('look', ({ traceparent }) => void seen.push(traceparent));
      await (await ctx.spawn(child, undefined)).result();
    },
  });
  await coordinator.worker([parent, child]);
  const key = await coordinator.key(['submit'], 'default');
  const { executions } = new HoldfastClient({ url: coordinator.url, key });
  const submit = async (traceparent: string): Promise<void> => {
    const response = await fetch(`${coordinator.url}/v1/executions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', traceparent },
      body: JSON.stringify({ pipeline: 'parent' }),
    });
    assert.equal(response.status, 202);
    const { id } = (await response.json()) as { id: string };
    assert.equal((await executions.result(id)).status, 'completed');
  };
  const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await submit(trace);
  assert.deepEqual(new Set(seen), new Set([trace]));
  assert.ok(seen.length >= 3);
  seen.length = 0;
  await submit('nonsense');
  assert.deepEqual(new Set(seen), new Set([undefined]));
});

test('keys for all projects see an old snapshot in explain and in the depth', async () => {
  const store = openMemoryStore();
  const storeProblem = { sentence: 'Process 7 is slow.', advice: 'End it.' };
  const executions = { ...store.executions, findProblem: () => Promise.resolve(storeProblem) };
  await using coordinator = await TestCoordinator.open({ store: { ...store, executions } });
  const of = async (project?: string): Promise<readonly unknown[]> => {
    const key = await coordinator.key(['submit'], project);
    const client = new HoldfastClient({ url: coordinator.url, key, project: 'default' });
    const { id } = await client.executions.submit({ pipeline: 'order' });
    const headers = { authorization: `Bearer ${key}`, 'holdfast-project': 'default' };
    const depth = await fetch(`${coordinator.url}/v1/depth`, { headers });
    const read = (await depth.json()) as { storeProblem?: unknown };
    return [(await client.executions.explain(id)).storeProblem, read.storeProblem];
  };
  assert.deepEqual(await of(), [storeProblem, storeProblem]);
  assert.deepEqual(await of('default'), [undefined, undefined]);
});
