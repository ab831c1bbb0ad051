// A client that uses the verbs of leases without Holdfast's sessions and handles. It beats when it
// likes, nests sessions, drains, revokes, goes back to older checkpoints, and often sends a request at
// the very moment at which the reply changes. The lease model judges every reply.

import type { DeclaredExit } from '../../../src/lease/exit.ts';
import type { Fence } from '../../../src/lease/fence.ts';
import {
  type AttemptId,
  type EffectId,
  type LeaseKey,
  type Owner,
  parseLeaseKey,
  type RequestId,
  type SessionId,
} from '../../../src/lease/names.ts';
import type { DrainResult, Tenure } from '../../../src/lease/port.ts';
import { PROJECT_METADATA } from '../../../src/lease/session.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { digestOf } from '../../../src/support/digest.ts';
import type { Random } from '../../../src/support/random.ts';
import type { Life } from '../actor.ts';
import type { Workload } from '../plan.ts';
import { ACTIVE_MS, between, pick, type World } from '../world.ts';

const KEYS = ['probe-1', 'probe-2'].map(parseLeaseKey);
const SEATS = 5;
const TTLS = [100, 1_000, 5_000, 5_000] as const;
const SAVED = new TextEncoder().encode('late');
const EXITS: readonly DeclaredExit[] = ['finished', 'yielded', 'abandoned', 'failed', 'retired'];

/** Enough for the breaker of mass expiry (E-8). */
const CROWD = 12;

/** One request: which, by which seat, about which key. */
interface Probe {
  readonly verb: string;
  readonly seat: number;
  readonly key: LeaseKey;
  /** Waits for the next moment at which a deadline passes. */
  readonly atEdge: boolean;
  /** Decides everything else. */
  readonly seed: number;
}

interface Seat {
  id: SessionId | undefined;
  attempt: AttemptId | undefined;
}

/** A lease as its row has it. */
interface Row {
  readonly fence: Fence;
  readonly session: SessionId;
  readonly seq: number | null;
  readonly deadlineAt: number | null;
  readonly expiresAt: number;
  readonly lapseAt: number;
}

interface Scene {
  readonly world: World;
  readonly life: Life;
  readonly store: CoordinatorStore;
  readonly seats: readonly Seat[];
  readonly random: Random;
  readonly probe: Probe;
}

const ownerOf = (seat: number): Owner => `probe-owner-${seat}` as Owner;

/** The weight of each request, and the function that sends it. */
const VERBS: Readonly<Record<string, readonly [number, (scene: Scene) => Promise<unknown>]>> = {
  opens: [5, open],
  beats: [
    4,
    (scene) => {
      const { store, random, probe } = scene;
      const ttlMs = random.next() < 0.4 ? { ttlMs: pick(random, TTLS) } : {};
      return store.sessions.heartbeat({
        id: sessionOf(scene),
        owner: ownerOf(probe.seat),
        ...ttlMs,
      });
    },
  ],
  'ends its session': [
    2,
    (scene) => {
      const by = { kind: 'owner', owner: ownerOf(scene.probe.seat), exit: 'yielded' } as const;
      return scene.store.sessions.end({ id: sessionOf(scene), by });
    },
  ],
  acquires: [9, acquire],
  withdraws: [
    1,
    async ({ store, seats, probe: { key, seat } }) => {
      const attempt = seats[seat]?.attempt;
      if (attempt !== undefined) await store.leases.withdraw({ key, attempt });
    },
  ],
  saves: [
    6,
    ofTerm(({ store, random }, term, { seq }) => {
      const bytes = new TextEncoder().encode(pick(random, ['one', 'two', 'three']));
      const next = (seq ?? 0) + pick(random, [1, 1, 1, 5, 0, -1]);
      return store.leases.checkpoint({
        ...term,
        seq: Math.max(1, next),
        bytes,
        digest: digestOf(bytes),
      });
    }),
  ],
  'begins an effect': [
    2,
    ofTerm(({ store, random }, term) =>
      store.leases.beginIntent({ ...term, effect: effect(random) }),
    ),
  ],
  'begins many effects': [
    2,
    ofTerm(async ({ store, world }, term) => {
      for (let nth = 0; nth <= world.policy.intentsMax; nth += 1) {
        await store.leases.beginIntent({ ...term, effect: `probe ${nth}` as EffectId });
      }
    }),
  ],
  'settles an effect': [
    1,
    ofTerm(({ store, random }, term) =>
      store.leases.settleIntent({ ...term, effect: effect(random) }),
    ),
  ],
  releases: [
    3,
    ofTerm(({ store, random }, term) =>
      store.leases.release({ ...term, exit: pick(random, EXITS) }),
    ),
  ],
  'drains, and goes on after the deadline': [
    4,
    ofTerm(async (scene, term) => {
      const { store, random, life } = scene;
      const { key, fence } = term;
      const drain = (): Promise<DrainResult> =>
        store.leases.requestDrain({
          ...{ key, fence, ...operator(life), deadlineMs: pick(random, [0, 200, 1_000]) },
          ...(random.next() < 0.5 && { successor: ownerOf(between(random, 0, SEATS - 1)) }),
        });
      const reply = await drain();
      if (reply.kind !== 'draining' || reply.deadlineInMs > 2_000) return;
      await life.process.timers.pause(reply.deadlineInMs + 1);
      await pick<() => Promise<unknown>>(random, [drain, () => goOn(scene, term)])();
    }),
  ],
  'ends a session, and goes on': [
    2,
    ofTerm(async (scene, term) => {
      const { actor, reason } = operator(scene.life);
      await scene.store.sessions.end({ id: term.session, by: { kind: 'operator', actor, reason } });
      await goOn(scene, term);
    }),
  ],
  revokes: [
    1,
    ofTerm(({ store, life }, { key, fence }) =>
      store.leases.revoke({ key, fence, ...operator(life) }),
    ),
  ],
  verifies: [2, ofTerm(({ store }, { key, fence }) => store.leases.verify({ key, fence }))],
  sweeps: [3, ({ store }) => store.sessions.sweep({ limit: 100 })],
  'recovers twice': [
    0.5,
    async ({ store }) => {
      await store.sessions.recover({ cause: 'simulated' });
      await store.sessions.recover({ cause: 'simulated' });
    },
  ],
  'loses a key again and again': [0.5, loseOften],
  'lets a crowd fall silent': [0.4, crowd],
  'shows a fence from the future': [0.1, halt],
};

export const prober: Workload = {
  name: 'prober',

  plan(random) {
    const lots = Object.entries(VERBS).flatMap(([verb, [weight]]) =>
      Array<string>(Math.round(weight * 10)).fill(verb),
    );
    return Array.from({ length: between(random, 18, 28) }, () => {
      const verb = pick(random, lots);
      const probe: Probe = {
        ...{ verb, seat: between(random, 0, SEATS - 1), key: pick(random, KEYS) },
        ...{ atEdge: random.next() < 0.4, seed: between(random, 0, 1e9) },
      };
      const atMs = between(random, 0, ACTIVE_MS);
      return { atMs, of: 'prober', what: `the prober ${verb} ${probe.key}`, details: { ...probe } };
    });
  },

  open(world) {
    const actor = world.actor('prober', async (life) => life);
    const seats = Array.from(
      { length: SEATS },
      (): Seat => ({ id: undefined, attempt: undefined }),
    );
    // An operator looks after the alarm.
    world.whenCalm(async () => {
      const { life } = actor;
      const [halted] = world.disk.rows('select 1 from meta where halted is not null');
      if (halted !== undefined) await life?.link.store.raiseEpoch(operator(life));
    });
    return ({ details }) => {
      const { life } = actor;
      const probe = details as unknown as Probe;
      const [, send] = VERBS[probe.verb] ?? [];
      if (life === undefined || send === undefined) return;
      const random = world.stream(`probe ${probe.seed}`);
      const scene = { world, life, store: life.link.store, seats, random, probe };
      world.operations += 1;
      world.run(life.process, async () => {
        if (probe.atEdge) await edge(scene);
        await send(scene);
      });
    };
  },
};

/** Until just after the next deadline of the key. */
async function edge({ world, life, random, probe }: Scene): Promise<void> {
  const row = rowOf(world, probe.key);
  const now = world.host.clock.wallMs();
  const moments = [row?.deadlineAt, row?.lapseAt, row?.expiresAt]
    .map((at) => (at ?? 0) - now)
    .filter((ms) => ms > 0 && ms < 1_500);
  if (moments.length > 0)
    await life.process.timers.pause(Math.min(...moments) + between(random, 0, 2));
}

function rowOf(world: World, key: LeaseKey): Row | undefined {
  const [row] = world.disk.rows<Row>(
    `select lease.fence, lease.session_id as session, lease.checkpoint_seq as seq,
            coalesce(lease.drain_deadline_at, lease.hard_deadline_at) as deadlineAt,
            session.expires_at as expiresAt, session.expires_at - session.grace_ms as lapseAt
       from lease join session on session.id = lease.session_id
      where lease.key = :key`,
    { key },
  );
  return row;
}

function sessionOf({ life, seats, probe }: Scene): SessionId {
  return seats[probe.seat]?.id ?? (life.process.random.uuid() as SessionId);
}

function effect(random: Random): EffectId {
  return `probe ${between(random, 0, 3)}` as EffectId;
}

function operator({ process }: Life): { request: RequestId; actor: string; reason: string } {
  return { request: process.random.uuid() as RequestId, actor: 'prober', reason: 'simulated' };
}

/** A session that the seat beats for itself, perhaps below another one. */
async function open(scene: Scene, ttlMs: number = pick(scene.random, TTLS)): Promise<SessionId> {
  const { store, life, seats, random, probe } = scene;
  const id = life.process.random.uuid() as SessionId;
  const parent = random.next() < 0.4 ? pick(random, seats).id : undefined;
  await store.sessions.open({
    ...{ id, owner: ownerOf(probe.seat), ttlMs, graceMs: pick(random, [0, 50, 200]) },
    ...(parent !== undefined && { parent }),
    metadata: { [PROJECT_METADATA]: 'probe' },
  });
  const seat = seats[probe.seat];
  if (seat !== undefined) seat.id = id;
  return id;
}

async function acquire(scene: Scene): Promise<void> {
  const { store, life, seats, random, probe } = scene;
  const seat = seats[probe.seat];
  const session = seat?.id ?? (await open(scene));
  const again = random.next() < 0.3 ? seat?.attempt : undefined;
  const attempt = again ?? (life.process.random.uuid() as AttemptId);
  if (seat !== undefined) seat.attempt = attempt;
  await store.leases.acquire({
    ...{ key: probe.key, session, attempt },
    ...(random.next() < 0.5 && { wait: true }),
    ...(random.next() < 0.7 && { reopen: true }),
    ...(random.next() < 0.3 && { fromCheckpointBefore: true }),
    ...(random.next() < 0.2 && { tenureMsMax: pick(random, [50, 300, 1_500]) }),
  });
}

/** Mostly the newest term and its own session, because a refusal at the first guard hides the others. */
function ofTerm(
  send: (scene: Scene, term: Tenure, row: Row) => Promise<unknown>,
): (scene: Scene) => Promise<unknown> {
  return async (scene) => {
    const { world, random, seats, probe } = scene;
    const row = rowOf(world, probe.key);
    if (row === undefined) return acquire(scene);
    const other = seats[probe.seat]?.id;
    const session = random.next() < 0.1 && other !== undefined ? other : row.session;
    const fence = (random.next() < 0.1 ? row.fence - 1 : row.fence) as Fence;
    return send(scene, { key: probe.key, fence, session }, row);
  };
}

/** A write of a holder that should have stopped. */
function goOn({ store, random }: Scene, term: Tenure): Promise<unknown> {
  const { leases } = store;
  return pick<() => Promise<unknown>>(random, [
    () => leases.beginIntent({ ...term, effect: effect(random) }),
    () => leases.settleIntent({ ...term, effect: effect(random) }),
    () => leases.release({ ...term, exit: 'finished' }),
    () => leases.checkpoint({ ...term, seq: 1_000, bytes: SAVED, digest: digestOf(SAVED) }),
  ])();
}

/**
 * Its owner is then kept from the key for a while, and its other attempts do not block the queue (G-4).
 */
async function loseOften(scene: Scene): Promise<void> {
  const { store, life, seats, probe } = scene;
  const { key } = probe;
  const ask = (session: SessionId, attempt: AttemptId): ReturnType<typeof store.leases.acquire> =>
    store.leases.acquire({ key, session, attempt, reopen: true, wait: true });
  const queued: (readonly [SessionId, AttemptId])[] = [];
  for (let time = 1; time <= 3; time += 1) {
    await ask(await open(scene, 100), life.process.random.uuid() as AttemptId);
    if (time === 3) {
      for (let nth = 1; nth <= 2; nth += 1) {
        const waiter = [await open(scene, 5_000), life.process.random.uuid() as AttemptId] as const;
        queued.push(waiter);
        await ask(...waiter);
      }
    }
    await life.process.timers.pause(130);
    await store.sessions.sweep({ limit: 100 });
  }
  const [first] = queued;
  if (first === undefined) return;
  const granted = await ask(...first);
  if (granted.kind !== 'granted') return;
  const { fence } = granted;
  await store.leases.release({ key, fence, session: first[0], exit: 'finished' });
  const next = { ...scene, probe: { ...probe, seat: (probe.seat + 1) % seats.length } };
  await open(next);
  await acquire(next);
}

/** Most sessions of a project fall silent at once, and again while the breaker holds them back. */
async function crowd(scene: Scene): Promise<void> {
  const { store, life, probe } = scene;
  const metadata = { [PROJECT_METADATA]: `crowd-${probe.seat % 2}` };
  for (let wave = 1; wave <= 2; wave += 1) {
    for (let nth = 1; nth <= CROWD; nth += 1) {
      const id = life.process.random.uuid() as SessionId;
      await store.sessions.open({ id, owner: ownerOf(nth), ttlMs: 100, graceMs: 0, metadata });
    }
    await life.process.timers.pause(1_050);
    await store.sessions.sweep({ limit: 100 });
  }
}

function alarms({ disk }: World): number {
  const sql = "select count(*) as n from event where detail like '%fence-ahead%'";
  return disk.rows<{ n: number }>(sql)[0]?.n ?? 0;
}

/** Grants stop until an operator raises the epoch (T-4). */
async function halt({ world, life, store, probe }: Scene): Promise<void> {
  const [last] = world.disk.rows<{ fence: number }>('select fence from meta');
  world.disturb(2_000);
  const before = alarms(world);
  for (const ahead of [1_000, 2_000]) {
    const fence = ((last?.fence ?? 0) + ahead) as Fence;
    await store.leases.verify({ key: probe.key, fence });
  }
  if (alarms(world) > before + 1) world.violate('T-4', 'One halt raised two alarms.');
  await life.process.timers.pause(300);
  await store.raiseEpoch(operator(life));
}
