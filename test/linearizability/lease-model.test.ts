import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { faultyStore } from '../../contract/testing/faulty-store.ts';
import {
  checkLinearizability,
  type LinearizabilityResult,
} from '../../contract/testing/linearizability/check.ts';
import { drawViolation } from '../../contract/testing/linearizability/draw.ts';
import {
  type LeaseCallEvent,
  leaseHistory,
  recordLeaseCalls,
} from '../../contract/testing/linearizability/lease-calls.ts';
import { leaseModel } from '../../contract/testing/linearizability/lease-model.ts';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import type { Fence } from '../../src/lease/fence.ts';
import {
  parseAttemptId,
  parseLeaseKey,
  parseOwner,
  parseSessionId,
} from '../../src/lease/names.ts';
import type { KernelStore } from '../../src/lease/port.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { digestOf } from '../../src/support/digest.ts';
import { seededRandom } from '../../src/support/random.ts';

const KEY = parseLeaseKey('invoice-17');
const POLICY = { flapUnitMs: 0, breakerSharePercent: 100 };
const TTL_MS = 1_000;

test('calls one after another are explained, with and without the time that they show', async () => {
  const scene = openScene();
  const [ann, bob] = [await scene.client('ann'), await scene.client('bob')];
  const fence = await ann.acquire();
  await bob.acquire();
  await ann.checkpoint(fence, 1);
  await scene.pass(TTL_MS - 100);
  await bob.beat();
  await scene.pass(200);
  const next = await bob.acquire();
  assert.ok(next > fence);
  await ann.checkpoint(fence, 2);
  await ann.beat();
  await bob.checkpoint(next, 2);
  await bob.inspect();
  await bob.release(next);
  assert.equal(scene.check().kind, 'linearizable');
});

test('a successor before the end of the ttl is a violation', async () => {
  const scene = openScene();
  const [ann, bob] = [await scene.client('ann'), await scene.client('bob')];
  await ann.acquire();
  // The store's clock runs away, and that of the history does not.
  scene.clock.jumpWall(TTL_MS + 1);
  await bob.beat();
  assert.equal((await bob.acquire()) > 0, true);
  assert.equal(scene.check().kind, 'violation');
});

test('C-10: a client whose clock is ahead may see an expiry early, and takes nothing over early', async () => {
  const scene = openScene();
  const [ann, bob] = [await scene.client('ann'), await scene.client('bob')];
  await ann.acquire();
  scene.clock.jumpWall(TTL_MS + 1);
  await bob.inspect();
  assert.equal(scene.check().kind, 'violation');
  assert.equal(scene.check({ skewMs: TTL_MS }).kind, 'linearizable');
  await bob.beat();
  await bob.acquire();
  assert.equal(scene.check({ skewMs: TTL_MS }).kind, 'violation');
});

test('a checkpoint that is accepted long after the lapse is a violation', async () => {
  const scene = openScene();
  const ann = await scene.client('ann');
  const fence = await ann.acquire();
  scene.elapse(5 * TTL_MS);
  await ann.checkpoint(fence, 1);
  assert.equal(scene.check({ lateMs: 50 }).kind, 'violation');
  assert.equal(scene.check().kind, 'linearizable', 'without a bound, the store may be late');
});

test('a session is overdue before its end is recorded, also if a concurrent heartbeat meets that end', async () => {
  const scene = openScene();
  const ann = await scene.client('ann');
  await ann.acquire();
  await scene.pass(2 * TTL_MS);
  await ann.inspect();
  const reader = await scene.client('reader');
  await reader.acquire();
  await ann.beat();
  // The heartbeat was sent before the inspection, and refused after the takeover.
  const beat = scene.events.at(-2);
  const inspection = scene.events.find(
    ({ kind, ...event }) =>
      kind === 'call' && 'call' in event && event.call.verb === 'leases.inspect',
  );
  assert.ok(beat?.kind === 'call' && inspection !== undefined);
  const events = scene.events.with(-2, { ...beat, at: inspection.at - 0.001 });
  assert.equal(scene.check({}, events).kind, 'linearizable');
});

test('a stale read is found, and drawn with the order before it', async () => {
  const scene = openScene();
  const ann = await scene.client('ann');
  const fence = await ann.acquire();
  await ann.checkpoint(fence, 1);
  const stale = await scene.store.leases.inspect(KEY);
  await ann.checkpoint(fence, 2);
  const reader = scene.record('reader', {
    ...scene.store,
    leases: { ...scene.store.leases, inspect: async () => stale },
  });
  await reader.leases.inspect(KEY);
  const result = scene.check();
  assert.ok(result.kind === 'violation');
  assert.match(result.message, /reply to reader: inspect → held/);
  assert.match(result.message, /ann holds it under fence \d+, with checkpoint 2\.$/);
  const svg = drawViolation(result);
  assert.match(svg, /^<svg [\s\S]*<\/svg>\n$/);
  assert.match(svg, /4 {2}ann: checkpoint 2 → saved/);
  assert.match(svg, /✕ {2}reader: inspect → held\. No order explains this reply\./);
});

test('an acquire whose reply was lost explains a holder that no reply shows', async () => {
  const scene = openScene();
  const [ann, bob] = [await scene.client('ann'), await scene.client('bob')];
  scene.faulty.fail('leases.acquire', 'lost-answer');
  await assert.rejects(ann.acquire());
  await bob.inspect();
  await bob.acquire();
  assert.equal(scene.check().kind, 'linearizable');
  const events = scene.events.filter((event) => event.kind !== 'call' || event.client !== 'ann');
  assert.equal(
    scene.check({}, events).kind,
    'violation',
    'without that call it has no explanation',
  );
});

test('calls that the store did not do are not part of the history', async () => {
  const scene = openScene();
  const ann = await scene.client('ann');
  scene.faulty.fail('leases.acquire', 'unavailable');
  await assert.rejects(ann.acquire());
  assert.equal(leaseHistory(scene.events).length, 1);
});

for (const seed of [1, 2, 3, 4, 5]) {
  test(`random calls of four clients with lost replies are explained, seed ${seed}`, async () => {
    const scene = openScene();
    await playAll(scene, seed);
    const result = scene.check();
    assert.equal(result.kind, 'linearizable', result.kind === 'violation' ? result.message : '');
  });

  test(`a store that does not check the fence of a release is found, seed ${seed}`, async () => {
    const scene = openScene((store) => ({
      ...store,
      leases: {
        ...store.leases,
        async release(request) {
          const { record } = await store.leases.inspect(request.key);
          if (record === undefined) return store.leases.release(request);
          const { fence, session } = record;
          return store.leases.release({ ...request, fence, session });
        },
      },
    }));
    await playAll(scene, seed);
    assert.equal(scene.check().kind, 'violation');
  });
}

interface Client {
  acquire(): Promise<Fence>;
  checkpoint(fence: Fence, seq: number): Promise<unknown>;
  beat(): Promise<unknown>;
  inspect(): Promise<unknown>;
  release(fence: Fence): Promise<unknown>;
}

/** A memory store, its clock, and the calls to it. The history's clock follows the store's. */
function openScene(broken: (store: KernelStore) => KernelStore = (store) => store) {
  const clock = new ManualClock();
  const faulty = faultyStore<KernelStore>(openMemoryStore({ clock, policy: POLICY }));
  const store = broken(faulty.store);
  const events: LeaseCallEvent[] = [];
  let elapsedMs = 0;
  const record = (client: string, own: KernelStore): KernelStore =>
    recordLeaseCalls(own, client, (event) => {
      events.push({ ...event, at: event.at + elapsedMs });
    });
  return {
    clock,
    faulty,
    store,
    events,
    record,
    elapse(ms: number): void {
      elapsedMs += ms;
    },
    async pass(ms: number): Promise<void> {
      clock.jumpWall(ms);
      elapsedMs += ms;
    },
    check(
      options: { readonly lateMs?: number; readonly skewMs?: number } = {},
      from: readonly LeaseCallEvent[] = events,
    ): LinearizabilityResult {
      return checkLinearizability(leaseModel({ policy: POLICY, ...options }), leaseHistory(from));
    },
    client: (name: string) => openClient(record(name, store), name),
  };
}

async function openClient({ sessions, leases }: KernelStore, name: string): Promise<Client> {
  const owner = parseOwner(name);
  const id = parseSessionId(randomUUID());
  await sessions.open({ id, owner, ttlMs: TTL_MS, graceMs: 100, metadata: {} });
  return {
    async acquire() {
      const attempt = parseAttemptId(randomUUID());
      const result = await leases.acquire({ key: KEY, session: id, attempt });
      return (result.kind === 'granted' ? result.fence : 0) as Fence;
    },
    checkpoint(fence, seq) {
      const bytes = Buffer.from(String(seq));
      return leases.checkpoint({
        key: KEY,
        session: id,
        fence,
        seq,
        bytes,
        digest: digestOf(bytes),
      });
    },
    beat: () => sessions.heartbeat({ id, owner }),
    inspect: () => leases.inspect(KEY),
    release: (fence) => leases.release({ key: KEY, session: id, fence, exit: 'finished' }),
  };
}

type Scene = ReturnType<typeof openScene>;

async function playAll(scene: Scene, seed: number): Promise<void> {
  const names = ['ann', 'bob', 'cid', 'dan'];
  const clients = await Promise.all(names.map((name) => scene.client(name)));
  const random = seededRandom(seed);
  scene.faulty.failBy(() => (random.next() < 0.05 ? 'lost-answer' : undefined));
  await Promise.all(clients.map((client) => play(client, scene, random)));
}

/** Releases also under fences of earlier terms, as a replaced holder would. */
async function play(
  client: Client,
  scene: Scene,
  random: ReturnType<typeof seededRandom>,
): Promise<void> {
  const fences: Fence[] = [];
  for (let turn = 1; turn <= 40; turn += 1) {
    const fence = fences[Math.floor(random.next() * fences.length)];
    const dice = random.next();
    try {
      if (fence === undefined || dice < 0.3) {
        const got = await client.acquire();
        if (got > 0) fences.push(got);
      } else if (dice < 0.55) await client.checkpoint(fence, turn);
      else if (dice < 0.75) await client.release(fence);
      else if (dice < 0.85) await client.inspect();
      else if (dice < 0.95) await client.beat();
      else await scene.pass(TTL_MS / 4);
    } catch (fault) {
      assert.equal((fault as Error).name, 'OutcomeUnknown');
    }
  }
}
