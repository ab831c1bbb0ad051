// While two projects send requests, each begins a bounded number of them in one turn of the event loop (P-18). Requests
// that wait for a turn hold nothing: their callers may go away.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { test } from 'node:test';
import { handlerAnywhere } from '../../contract/transport/fake-endpoint.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import { ROUTES } from '../../src/protocol/rest/routes.ts';
import type { PushOptions } from '../../src/server/serve.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { systemClock } from '../../src/support/clock.ts';
import { digestOf } from '../../src/support/digest.ts';
import { systemTimers } from '../../src/support/timer.ts';
import { ALLOW, mounted, SIGNING } from '../transport/push-stand.ts';
import { TestCoordinator, until } from './coordinator.ts';
import { RawWorker } from './raw-worker.ts';

const SHARE = 8;
const SENT = 20;
/** The time that a slow read takes. */
const COUNT_MS = 10;

/** A coordinator with two projects, whose next turn of shares comes when the test allows it. */
class Stand {
  /** Heartbeats, reads of histories and claims that reached the store. */
  beats = 0;
  reads = 0;
  claims = 0;
  isHeld = false;
  /** The timers, except those of turns, that were set since the turns are held. */
  readonly waits: number[] = [];
  readonly #held: (() => void)[] = [];
  #nowMs = 0;

  async open(openMax = 4, push?: PushOptions): Promise<TestCoordinator> {
    const timers = {
      ...systemTimers,
      soon: (callback: () => void) =>
        this.isHeld ? void this.#held.push(callback) : systemTimers.soon(callback),
      // Turns last a millisecond; no other timer is that short.
      after: (ms: number, callback: () => void) => {
        if (ms > 1 && this.isHeld) this.waits.push(ms);
        if (ms > 1 || !this.isHeld) return systemTimers.after(ms, callback);
        this.#held.push(callback);
        return () => undefined;
      },
    };
    // Time stands still, so no project falls silent on a busy machine.
    const clock = { ...systemClock, monotonicMs: () => this.#nowMs };
    const store = this.#counting(openMemoryStore());
    return TestCoordinator.open({
      store,
      timers,
      clock,
      maintenance: false,
      limits: { openMax },
      channels: { signing: { keys: { k: 'channel secret '.repeat(3) }, current: 'k' } },
      ...(push && { push }),
    });
  }

  release(): void {
    this.isHeld = false;
    this.nextTurn();
  }

  /** Holds the turns when the shares of earlier requests are free again. */
  async holdUnused(other: RawWorker, count = 5): Promise<void> {
    this.isHeld = true;
    for (let turns = 0; turns < count; turns += 1) {
      await beat(other);
      this.nextTurn();
    }
  }

  nextTurn(): void {
    for (const callback of this.#held.splice(0)) callback();
  }

  #counting(store: CoordinatorStore): CoordinatorStore {
    const { sessions, executions, leases, access } = store;
    const history: typeof executions.history = (query) => {
      this.reads += 1;
      return executions.history(query);
    };
    const slow =
      <Query, Found>(read: (query: Query) => Promise<Found>) =>
      (query: Query): Promise<Found> => {
        this.#nowMs += COUNT_MS;
        return read(query);
      };
    const claim: typeof executions.claim = (request) => {
      this.claims += 1;
      return executions.claim(request);
    };
    const heartbeat: typeof sessions.heartbeat = (request) => {
      this.beats += 1;
      return sessions.heartbeat(request);
    };
    return {
      ...store,
      sessions: { ...sessions, heartbeat, list: slow(sessions.list) },
      access: { ...access, deliveries: slow(access.deliveries) },
      leases: { ...leases, list: slow(leases.list), events: slow(leases.events) },
      executions: { ...executions, history, claim, count: slow(executions.count) },
    };
  }
}

const beat = (who: RawWorker, signal?: AbortSignal) =>
  who.call('POST', `/v1/work/sessions/${who.session}/heartbeat`, { owner: who.project }, signal);

test('P-18: while another project is active, a project begins its share of requests in a turn', async () => {
  const stand = new Stand();
  await using coordinator = await stand.open();
  const hostile = await RawWorker.open(coordinator, 'hostile');
  const healthy = await RawWorker.open(coordinator, 'healthy');
  stand.isHeld = true;
  const beats = Array.from({ length: SENT }, () => beat(hostile));
  await Promise.race(beats);
  assert.equal((await healthy.call('POST', '/v1/executions', { pipeline: 'x' })).status, 202);
  await until(async () => stand.beats === SHARE || undefined);
  stand.release();
  for (const { status } of await Promise.all(beats)) assert.equal(status, 200);
});

test('P-18: requests that a role does not allow take a share too', async () => {
  const stand = new Stand();
  await using coordinator = await stand.open();
  const healthy = await RawWorker.open(coordinator, 'healthy');
  const key = await coordinator.key(['submit'], 'hostile');
  const hostile = new RawWorker(coordinator.url, key, 'hostile');
  await hostile.call('POST', '/v1/executions', { pipeline: 'x' });
  stand.isHeld = true;
  let replies = 0;
  const refused = Array.from({ length: SENT }, async () => {
    const { status } = await hostile.call('GET', '/v1/work');
    replies += 1;
    return status;
  });
  await until(async () => replies === SHARE || undefined);
  assert.equal((await beat(healthy)).status, 200, 'another project does not wait');
  assert.equal(replies, SHARE);
  stand.release();
  assert.deepEqual(new Set(await Promise.all(refused)), new Set([403]));
});

test('P-18: heartbeats do not wait for other requests of their own project', async () => {
  const stand = new Stand();
  await using coordinator = await stand.open();
  const busy = await RawWorker.open(coordinator, 'busy');
  await RawWorker.open(coordinator, 'other');
  stand.isHeld = true;
  const submits = Array.from({ length: SENT }, () =>
    busy.call('POST', '/v1/executions', { pipeline: 'x' }),
  );
  await Promise.race(submits);
  assert.equal((await beat(busy)).status, 200);
  stand.release();
  for (const { status } of await Promise.all(submits)) assert.equal(status, 202);
});

test('P-18: large bodies of a project wait before they are read, and another project does not', async () => {
  const limits = { bodyBytesMax: 512 * 1024 };
  await using coordinator = await TestCoordinator.onMemory({ maintenance: false, limits });
  const hostile = await RawWorker.open(coordinator, 'hostile');
  const healthy = await RawWorker.open(coordinator, 'healthy');
  const body = JSON.stringify({ pipeline: 'x', input: 'x'.repeat(400 * 1024) });
  const headers = { ...hostile.headers, 'content-length': String(body.length) };
  const unfinished = [1, 2].map(() => {
    const call = request(`${coordinator.url}/v1/executions`, { method: 'POST', headers });
    call.on('error', () => undefined);
    call.write(body.slice(0, -1));
    return call;
  });
  const submit = (who: RawWorker, input: string): Promise<number> =>
    who.call('POST', '/v1/executions', { pipeline: 'x', input }).then(({ status }) => status);
  // The coordinator answers later requests, so it has begun to read these bodies.
  for (let nth = 0; nth < 3; nth += 1) assert.equal(await submit(hostile, 'small'), 202);
  let isDone = false;
  const third = submit(hostile, 'x'.repeat(400 * 1024)).finally(() => {
    isDone = true;
  });
  for (let nth = 0; nth < 5; nth += 1) {
    assert.equal(await submit(healthy, 'x'.repeat(400 * 1024)), 202);
  }
  assert.equal(isDone, false, 'it waits for room');
  for (const call of unfinished) call.destroy();
  assert.equal(await third, 202, 'a caller that leaves frees its room');
});

test('P-18: large bodies whose last bytes arrive together are parsed in separate turns', async () => {
  const stand = new Stand();
  await using coordinator = await stand.open();
  const hostile = await RawWorker.open(coordinator, 'hostile');
  const healthy = await RawWorker.open(coordinator, 'healthy');
  const body = JSON.stringify({ pipeline: 'x', input: 'x'.repeat(512 * 1024) });
  let replies = 0;
  const calls = [1, 2, 3].map(() => {
    const headers = { ...hostile.headers, 'content-length': String(body.length) };
    const call = request(`${coordinator.url}/v1/executions`, { method: 'POST', headers });
    call.write(body.slice(0, -1));
    const status = once(call, 'response').then(([{ statusCode }]) => {
      replies += 1;
      return statusCode;
    });
    return { call, status };
  });
  for (let turns = 0; turns < 20; turns += 1) await beat(healthy);
  stand.isHeld = true;
  for (const { call } of calls) call.end(body.slice(-1));
  await Promise.race(calls.map(({ status }) => status));
  for (let turns = 0; turns < 3; turns += 1) await beat(healthy);
  assert.equal(replies, 1);
  stand.release();
  for (const { status } of calls) assert.equal(await status, 202);
});

for (const [what, path] of [
  ['a stored value', 'result'],
  ['a history', 'history'],
] as const) {
  test(`P-18: requests for ${what} of 512 KiB decode it in separate turns`, async () => {
    const stand = new Stand();
    await using coordinator = await stand.open(16);
    const hostile = await RawWorker.open(coordinator, 'hostile');
    const healthy = await RawWorker.open(coordinator, 'healthy');
    const owner = await hostile.running('x');
    const bytes = Uint8Array.from(Buffer.from(JSON.stringify('x'.repeat(512 * 1024))));
    const ref = digestOf(bytes);
    await hostile.putValue(ref, bytes);
    const out = path === 'history' ? { v: 'x'.repeat(512 * 1024) } : { ref, size: 1 };
    const events = [{ kind: 'completed', body: JSON.stringify({ out }) }];
    await hostile.write(owner, { verb: 'finish', status: 'completed', events });
    let replies = 0;
    const read = async (): Promise<void> => {
      const { status } = await hostile.call('GET', `/v1/executions/${owner.id}/${path}`);
      assert.equal(status, 200);
      replies += 1;
    };
    await stand.holdUnused(healthy, 200);
    const requests = [read(), read(), read()];
    for (let turns = 0; turns < 25; turns += 1) {
      await beat(healthy);
      stand.nextTurn();
    }
    await Promise.race(requests);
    assert.equal(replies, 1);
    stand.release();
    await Promise.all(requests);
  });
}

test('P-18: a page of a stream takes 16 shares, and an idle stream reads again after 10 s', async () => {
  const stand = new Stand();
  await using coordinator = await stand.open(16);
  const hostile = await RawWorker.open(coordinator, 'hostile');
  const healthy = await RawWorker.open(coordinator, 'healthy');
  const { id } = await hostile.running('x');
  await stand.holdUnused(healthy);
  const open = new AbortController();
  const path = `/v1/executions/${id}/events`;
  await hostile.open(path, open.signal);
  const second = hostile.open(path, open.signal);
  // A page begins in a turn of its own and takes two. Then the second stream begins, and its page one turn later.
  for (const reads of [0, 1, 1, 1, 2]) {
    await until(async () => stand.reads === reads || undefined);
    for (let nth = 0; nth < 2; nth += 1) assert.equal((await beat(healthy)).status, 200);
    assert.equal(stand.reads, reads);
    stand.nextTurn();
  }
  await second;
  await until(async () => stand.waits.filter((ms) => ms === 10_000).length === 2 || undefined);
  assert.deepEqual(
    stand.waits.filter((ms) => ms < 5_000),
    [],
  );
  open.abort();
  stand.release();
});

test('P-18: claims for an endpoint take the share of its project', async () => {
  const stand = new Stand();
  const idle = pipeline({ name: 'x', run: () => 1 });
  const endpoint = await mounted(handlerAnywhere({ pipelines: [idle], signing: SIGNING }));
  const { url } = endpoint;
  const endpoints = [{ url, pipelines: ['x'], project: 'hostile', capacity: 100 }];
  await using coordinator = await stand.open(4, { endpoints, signing: SIGNING, allow: ALLOW });
  using _ = { [Symbol.dispose]: () => endpoint.close() };
  const hostile = await RawWorker.open(coordinator, 'hostile');
  const healthy = await RawWorker.open(coordinator, 'healthy');
  const submit = (): ReturnType<RawWorker['call']> =>
    hostile.call('POST', '/v1/executions', { pipeline: 'x' });
  const end = async ({ json }: Awaited<ReturnType<typeof submit>>): Promise<void> => {
    const { status } = await hostile.call('GET', `/v1/executions/${json.id}/result?waitMs=20000`);
    assert.equal(status, 200, 'the coordinator called the endpoint');
  };
  await end(await submit());
  await stand.holdUnused(healthy, 50);
  const submits = Array.from({ length: SENT }, submit);
  const first = stand.claims;
  while (stand.claims - first < SENT) {
    const before = stand.claims;
    stand.nextTurn();
    for (let nth = 0; nth < 2; nth += 1) assert.equal((await beat(healthy)).status, 200);
    assert.ok(stand.claims - before <= 2, `${stand.claims - before} claims in one turn`);
  }
  stand.release();
  for (const each of await Promise.all(submits)) await end(each);
});

const SEARCHES = ROUTES.filter(({ isSearch }) => isSearch === true).map(({ name, path }) => ({
  ...{ name, path, weight: 16 },
}));

for (const { name, path, weight } of [
  { name: 'listChildren', path: '/v1/executions/:id/children', weight: 4 },
  { name: 'listExecutions, which has filters,', path: '/v1/executions', weight: 16 },
  { name: 'listAwaits, which has filters,', path: '/v1/awaits', weight: 16 },
  ...SEARCHES,
]) {
  test(`P-18: ${name} counts as ${weight} requests`, async () => {
    const stand = new Stand();
    await using coordinator = await stand.open();
    const hostile = await RawWorker.open(coordinator, 'hostile');
    const healthy = await RawWorker.open(coordinator, 'healthy');
    const { id } = await hostile.running('x');
    await stand.holdUnused(healthy);
    let replies = 0;
    const requests = Array.from({ length: SENT }, async () => {
      await hostile.call('GET', path.replace(':id', id));
      replies += 1;
    });
    const begun = Math.max(1, SHARE / weight);
    await until(async () => replies === begun || undefined);
    for (let nth = 0; nth < 2; nth += 1) await beat(healthy);
    assert.equal(replies, begun);
    stand.release();
    await Promise.all(requests);
  });
}

for (const path of [
  '/v1/executions/count',
  '/v1/workers',
  '/v1/sessions',
  '/v1/work/sessions',
  '/v1/work/leases',
  '/v1/work/leases/events?after=0',
  '/v1/channels/c/deliveries',
]) {
  test(`P-18: ${path} also counts by the time that it took`, async () => {
    const stand = new Stand();
    await using coordinator = await stand.open();
    const hostile = await RawWorker.open(coordinator, 'hostile');
    const healthy = await RawWorker.open(coordinator, 'healthy');
    const key = await coordinator.key(['lease', 'operate'], 'hostile');
    const reader = new RawWorker(coordinator.url, key, 'hostile');
    const channel = { kind: 'webhook', url: 'https://example.com/', events: ['lease-lost'] };
    assert.equal((await reader.call('PUT', '/v1/channels/c', channel)).status, 200);
    await stand.holdUnused(healthy);
    assert.equal((await reader.call('GET', path)).status, 200);
    let isDone = false;
    const next = hostile.call('GET', '/v1/work').finally(() => {
      isDone = true;
    });
    let turns = 0;
    for (; !isDone; turns += 1) {
      for (let nth = 0; nth < 2; nth += 1) assert.equal((await beat(healthy)).status, 200);
      if (!isDone) stand.nextTurn();
    }
    assert.ok(turns > COUNT_MS, `${turns} turns`);
    stand.release();
    assert.equal((await next).status, 200);
  });
}

const TEN_RANGES = Array.from({ length: 10 }, (_, nth) => `where=a${nth}%3E%3D0`).join('&');
const COUNT_PATH = `/v1/executions/count?tag=t&${TEN_RANGES}`;

/** A coordinator whose store holds the counts of every project but the healthy one. */
async function holdingCounts() {
  const store = openMemoryStore();
  const held: (() => void)[] = [];
  const seen = { counting: 0, countingMax: 0, isOver: false };
  const count: typeof store.executions.count = async (query) => {
    if (query.project === 'healthy') return store.executions.count(query);
    seen.counting += 1;
    seen.countingMax = Math.max(seen.countingMax, seen.counting);
    if (!seen.isOver) await new Promise<void>((resolve) => held.push(resolve));
    seen.counting -= 1;
    return store.executions.count(query);
  };
  const release = (): void => {
    seen.isOver = true;
    for (const each of held) each();
  };
  const own = { ...store, executions: { ...store.executions, count } };
  const coordinator = await TestCoordinator.open({ store: own, maintenance: false });
  const healthy = await RawWorker.open(coordinator, 'healthy');
  return { coordinator, healthy, seen, release, releaseOne: () => held.shift()?.() };
}

test('P-18: a project with 30 counts has two in the store, and no read, write or heartbeat waits for them', async () => {
  const { coordinator, healthy, seen, release } = await holdingCounts();
  await using _ = coordinator;
  const hostile = await RawWorker.open(coordinator, 'hostile');
  const counts = Array.from({ length: 30 }, () => hostile.call('GET', COUNT_PATH));
  await until(async () => seen.counting === 2 || undefined);
  for (const read of [COUNT_PATH, '/v1/executions', '/v1/workers', '/v1/overview']) {
    assert.equal((await healthy.call('GET', read)).status, 200, read);
  }
  assert.equal((await beat(hostile)).status, 200);
  await hostile.running('x');
  release();
  for (const { status } of await Promise.all(counts)) assert.equal(status, 200);
  assert.equal(seen.countingMax, 2);
});

test('P-18: five projects with 30 counts each have four in the store together, and a sixth works and counts next', async () => {
  const { coordinator, healthy, seen, release, releaseOne } = await holdingCounts();
  await using _ = coordinator;
  const names = ['one', 'two', 'three', 'four', 'five'];
  const hostile = await Promise.all(names.map((name) => RawWorker.open(coordinator, name)));
  const counts = hostile.flatMap((each) =>
    Array.from({ length: 30 }, () => each.call('GET', COUNT_PATH)),
  );
  await until(async () => seen.counting >= 4 || undefined);
  for (const each of [...hostile, healthy]) assert.equal((await beat(each)).status, 200);
  await healthy.running('x');
  let isCounted = false;
  const own = healthy.call('GET', COUNT_PATH).then(({ status }) => {
    isCounted = true;
    return status;
  });
  let released = 0;
  for (; !isCounted; released += 1) {
    releaseOne();
    await beat(healthy);
  }
  assert.equal(await own, 200);
  assert.ok(released < 20, `${released} counts of other projects went first`);
  release();
  for (const { status } of await Promise.all(counts)) assert.equal(status, 200);
  assert.equal(seen.countingMax, 4);
});

for (const [what, path, status] of [
  ['an unknown route', '/nothing-here', 404],
  ['a public route', '/healthz', 200],
  ['a route without a key', '/v1/executions', 401],
  ['the console', '/console', 302],
] as const) {
  test(`P-18: requests for ${what} take the share of their network, and delay no project`, async () => {
    const stand = new Stand();
    await using coordinator = await stand.open();
    const healthy = await RawWorker.open(coordinator, 'healthy');
    stand.isHeld = true;
    let replies = 0;
    const strangers = Array.from({ length: SENT }, async () => {
      const response = await fetch(`${coordinator.url}${path}`, { redirect: 'manual' });
      await response.arrayBuffer();
      replies += 1;
      return response.status;
    });
    await until(async () => replies === SHARE || undefined);
    for (let nth = 0; nth < 2; nth += 1) assert.equal((await beat(healthy)).status, 200);
    assert.equal(replies, SHARE);
    stand.release();
    assert.deepEqual(new Set(await Promise.all(strangers)), new Set([status]));
  });
}

test('P-18: no name of a project gives it the share of another', async () => {
  const stand = new Stand();
  await using coordinator = await stand.open();
  const busy = await RawWorker.open(coordinator, 'busy');
  const hostile = await RawWorker.open(coordinator, 'heartbeats of busy');
  stand.isHeld = true;
  const sent = Array.from({ length: SENT }, () => hostile.call('GET', '/v1/work'));
  await Promise.race(sent);
  assert.equal((await beat(busy)).status, 200);
  stand.release();
  await Promise.all(sent);
});

test('X-90: a coordinator rolls the dice of a claim without dice', async () => {
  const store = openMemoryStore();
  const dice: unknown[] = [];
  const claim: typeof store.executions.claim = (request) => {
    dice.push(request.dice);
    return store.executions.claim(request);
  };
  const own = { ...store, executions: { ...store.executions, claim } };
  await using coordinator = await TestCoordinator.open({ store: own, maintenance: false });
  const worker = await RawWorker.open(coordinator, 'healthy');
  const shares = [{ lane: 'interactive', limit: 1 }];
  const body = { session: worker.session, pipelines: ['x'], shares };
  for (let nth = 0; nth < 3; nth += 1) await worker.call('POST', '/v1/work/claims', body);
  assert.equal(new Set(dice).size, 3);
  assert.ok(dice.every((each) => typeof each === 'number'));
});

for (const path of ['heartbeat', 'stream']) {
  test(`P-18: a ${path} whose caller goes away while it waits is not handled and holds nothing`, async () => {
    const stand = new Stand();
    await using coordinator = await stand.open();
    const hostile = await RawWorker.open(coordinator, 'hostile');
    await RawWorker.open(coordinator, 'healthy');
    stand.isHeld = true;
    const begun = Array.from({ length: SHARE }, () =>
      path === 'stream' ? hostile.call('GET', '/v1/work') : beat(hostile),
    );
    await Promise.all(begun);
    const leaving = new AbortController();
    const waiting = Array.from({ length: SENT }, () =>
      path === 'stream'
        ? hostile.call('GET', '/v1/events', undefined, leaving.signal)
        : beat(hostile, leaving.signal),
    );
    // The coordinator answers later requests, so it has read these.
    const other = await RawWorker.open(coordinator, 'other');
    for (let nth = 0; nth < 2; nth += 1) await beat(other);
    leaving.abort();
    await Promise.allSettled(waiting);
    for (let nth = 0; nth < 2; nth += 1) await beat(other);
    const reached = stand.beats;
    stand.release();
    assert.equal((await beat(hostile)).status, 200, 'the project goes on');
    assert.equal(stand.beats, reached + 1, 'those that left did not reach the store');
    const open = new AbortController();
    const response = await hostile.open('/v1/events', open.signal);
    assert.equal(response.status, 200, 'a stream without a reader is not counted');
    open.abort();
  });
}
