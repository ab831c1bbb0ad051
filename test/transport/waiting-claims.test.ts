// A claim waits at the coordinator, so that an idle worker needs neither wakeups nor polls in between.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { claiming, mustSubmit, PROJECT, worker } from '../../contract/execution/worker.ts';
import { Peer } from '../../contract/transport/peer.ts';
import { HoldfastClient } from '../../src/client/client.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import type { Transport } from '../../src/protocol/messages/envelope.ts';
import { claimWithin } from '../../src/protocol/rest/waiting-claims.ts';
import { buildCoordinator } from '../../src/server/coordinator-of.ts';
import { openServer } from '../../src/server/serve.ts';
import type { ClaimResult, CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { systemTimers } from '../../src/support/timer.ts';
import { streamTransport } from '../../src/worker/connection.ts';
import { httpTransport } from '../../src/worker/http-transport.ts';
import { openWorker } from '../../src/worker/open-worker.ts';
import { createKey } from './backend.ts';

/** The calls of a store, by name, and an event for each. */
class Calls {
  readonly counts: Map<string, number> = new Map();
  #waiting: (() => void)[] = [];

  of(name: string): number {
    return this.counts.get(name) ?? 0;
  }

  note(name: string): void {
    this.counts.set(name, this.of(name) + 1);
    for (const wake of this.#waiting.splice(0)) wake();
  }

  async reach(name: string, count: number): Promise<void> {
    while (this.of(name) < count) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
  }
}

/** Notes a call when the store has answered it. */
function noting<Port extends object>(port: Port, calls: Calls): Port {
  const noted = Object.entries(port).map(([name, verb]) => [
    name,
    typeof verb !== 'function' || name === 'onWakeup' || name === 'room'
      ? verb
      : async (...args: unknown[]) => {
          const result: unknown = await verb.apply(port, args);
          calls.note(name);
          return result;
        },
  ]);
  return Object.fromEntries(noted) as Port;
}

interface Stand {
  readonly store: CoordinatorStore;
  readonly calls: Calls;
  readonly url: string;
  readonly key: string;
  [Symbol.asyncDispose](): Promise<void>;
}

async function stand(): Promise<Stand> {
  const memory = openMemoryStore();
  const calls = new Calls();
  const store = {
    ...memory,
    sessions: noting(memory.sessions, calls),
    executions: noting(memory.executions, calls),
  };
  const key = await createKey(memory, 'default', ['work', 'submit']);
  const server = await openServer({ store, port: 0, maintenance: false });
  return {
    ...{ store: memory, calls, url: server.url, key },
    async [Symbol.asyncDispose]() {
      await server.close();
      await memory.close();
    },
  };
}

const KINDS = {
  stream: (url: string, key: string) => streamTransport({ url, key, timers: systemTimers }),
  REST: (url: string, key: string) => httpTransport({ url, key, timers: systemTimers }),
} as const;

async function peerOf({ url, key }: Stand, kind: keyof typeof KINDS): Promise<Peer> {
  const transport: Transport = KINDS[kind](url, key);
  await transport.request({ kind: 'greet', body: {} });
  const peer = new Peer(transport, 'ann');
  await peer.request('openSession', peer.opening);
  return peer;
}

const WAIT_MS = 10_000;

function waitingClaim(ann: Peer, shares?: readonly object[]): Promise<ClaimResult> {
  return ann.request('claimExecutions', {
    ...{ ...ann.claiming(1), waitMs: WAIT_MS },
    ...(shares && { shares }),
  });
}

function countOf(result: ClaimResult): number | string {
  return result.kind === 'claimed' ? result.claims.length : result.why;
}

for (const kind of ['stream', 'REST'] as const) {
  test(`M-36: over ${kind}, a claim that waits returns an execution that is submitted later`, async () => {
    await using at = await stand();
    const ann = await peerOf(at, kind);
    const claim = waitingClaim(ann);
    await at.calls.reach('claim', 1);
    await mustSubmit(at.store);
    assert.equal(countOf(await claim), 1);
    assert.equal(at.calls.of('claim'), 2);
    await ann.transport.close();
  });

  test(`M-36: over ${kind}, the waiting claim of a session that drains ends without a claim`, async () => {
    await using at = await stand();
    const ann = await peerOf(at, kind);
    const claim = waitingClaim(ann);
    await at.calls.reach('claim', 1);
    await ann.request('announceWorker', { ...ann.announcing, state: 'draining' });
    assert.equal(countOf(await claim), 0);
    const id = await mustSubmit(at.store);
    assert.equal((await at.store.executions.read(id))?.status, 'queued');
    await ann.transport.close();
  });
}

test('M-36: a waiting claim ends with its session', async () => {
  await using at = await stand();
  const ann = await peerOf(at, 'stream');
  const claim = waitingClaim(ann);
  await at.calls.reach('claim', 1);
  await ann.end();
  assert.equal(countOf(await claim), 0);
  await ann.transport.close();
});

test('M-36: a waiting claim ends when its caller is gone, and claims nothing afterwards', async () => {
  await using at = await stand();
  const ann = await worker(at.store);
  const coordinator = buildCoordinator({ store: at.store, port: 0 }, undefined);
  const gone = new AbortController();
  const claim = { ...claiming(ann, 1), project: PROJECT };
  const waiting = claimWithin(coordinator, claim, { waitMs: WAIT_MS, signal: gone.signal });
  gone.abort();
  assert.equal(countOf(await waiting), 0);
  const again = claimWithin(coordinator, claim, { waitMs: WAIT_MS, signal: gone.signal });
  const id = await mustSubmit(at.store);
  assert.equal(countOf(await again), 0);
  assert.equal((await at.store.executions.read(id))?.status, 'queued');
  coordinator.readiness.close();
  await coordinator.holdfast.close();
});

test('M-36: a waiting claim for one lane returns an execution of the other', async () => {
  await using at = await stand();
  const ann = await peerOf(at, 'stream');
  const claim = waitingClaim(ann, [
    { lane: 'interactive', limit: 1 },
    { lane: 'batch', limit: 0 },
  ]);
  await at.calls.reach('claim', 2);
  await mustSubmit(at.store, { lane: 'batch' });
  assert.equal(countOf(await claim), 1);
  await ann.transport.close();
});

test('M-36: after a claim that left nothing, the next one waits for a wakeup without looking', async () => {
  await using at = await stand();
  const ann = await peerOf(at, 'stream');
  await mustSubmit(at.store);
  assert.equal(countOf(await waitingClaim(ann)), 1);
  const next = waitingClaim(ann);
  // A later message of the same stream has its reply, so the claim has begun to wait.
  await ann.heartbeat();
  assert.equal(at.calls.of('claim'), 1);
  await mustSubmit(at.store);
  assert.equal(countOf(await next), 1);
  assert.equal(at.calls.of('claim'), 2);
  await ann.transport.close();
});

test('M-36: a claim that waits for a wakeup looks once before its time is over', async () => {
  await using at = await stand();
  const ann = await peerOf(at, 'stream');
  await mustSubmit(at.store);
  const shortly = { ...ann.claiming(1), waitMs: 50 };
  assert.equal(countOf(await ann.request('claimExecutions', shortly)), 1);
  assert.equal(countOf(await ann.request('claimExecutions', shortly)), 0);
  assert.equal(at.calls.of('claim'), 2);
  await ann.transport.close();
});

test('an idle worker on a stream costs one claim for each poll, and heartbeats', async () => {
  await using at = await stand();
  const { url, key } = at;
  const idle = pipeline({ name: 'idle', run: async () => 1 });
  const opened = await openWorker({ url, key, stream: true, pipelines: [idle], pollMs: 50 });
  await at.calls.reach('claim', 3);
  at.calls.counts.clear();
  await at.calls.reach('claim', 20);
  const rare = new Set(['heartbeat', 'announce']);
  const often = [...at.calls.counts.keys()].filter((name) => !rare.has(name));
  assert.deepEqual(often, ['claim']);
  for (const name of rare) assert.ok(at.calls.of(name) <= 10, `${name}: ${at.calls.of(name)}`);
  await opened.stop();
});

test('callers that wait for what they submitted cost no query of their own', async () => {
  await using at = await stand();
  const { url, key } = at;
  const quick = pipeline({ name: 'quick', run: (ctx) => ctx.step('one', () => 1) });
  const opened = await openWorker({ url, key, stream: true, pipelines: [quick] });
  const client = new HoldfastClient({ url, key, stream: true });
  const count = 20;
  for (let nth = 0; nth < count; nth += 1) {
    const { id } = await client.executions.submit({ pipeline: 'quick' });
    assert.equal((await client.executions.result(id)).status, 'completed');
  }
  // On a busy machine, an execution that takes long costs a poll.
  assert.ok(at.calls.of('outcomes') <= count, `${at.calls.of('outcomes')} queries`);
  await opened.stop();
});
