// Holders compete for a few keys. In each term, the holder works, saves checkpoints, begins and
// settles effects, and ends the term in one of the possible ways. Operators drain, revoke and end
// sessions. Some holders, and operators now and then, reach the store through a coordinator.

import type { DeclaredExit } from '../../../src/lease/exit.ts';
import type { HeldLease } from '../../../src/lease/held-lease.ts';
import { openSession, type Session } from '../../../src/lease/live-session.ts';
import { parseLeaseKey } from '../../../src/lease/names.ts';
import { drainLease, revokeLease } from '../../../src/lease/operate.ts';
import type { LeaseService } from '../../../src/lease/port.ts';
import type { Random } from '../../../src/support/random.ts';
import type { Actor, Life } from '../actor.ts';
import { leaseRules } from '../checkers/leases.ts';
import { type Ledger, ledgerOf } from '../ledger.ts';
import type { PlannedOperation, Workload } from '../plan.ts';
import { startLeaseClient } from '../workers.ts';
import { ACTIVE_MS, between, pick, type World } from '../world.ts';
import { VAULT } from './pipelines.ts';

const KEYS = ['daily', 'weekly', 'index'] as const;
const EXITS: readonly DeclaredExit[] = ['finished', 'yielded', 'abandoned', 'failed', 'retired'];

/** A coordinator puts the name of the project before its keys. */
const OF_PROJECT = 'default:';

/** One term that a holder wants. */
interface Term {
  readonly holder: string;
  readonly key: string;
  readonly isPatient: boolean;
  readonly effects: number;
  readonly exit: DeclaredExit;
  readonly tenureMsMax?: number;
  /** True if it wants the key even if another holder has retired it. */
  readonly reopen: boolean;
  /** True if a child session of the holder acquires it. */
  readonly isChild?: boolean;
}

type OperatorAction = {
  readonly action: 'drain' | 'revoke' | 'end-session' | 'sweep';
  readonly key: string;
};

export const leases: Workload = {
  name: 'leases',

  plan(random) {
    const terms = Array.from({ length: between(random, 12, 15) }, () => planTerm(random));
    const actions = Array.from({ length: between(random, 2, 5) }, () => planAction(random));
    return [...terms, ...actions];
  },

  open(world) {
    const ledger = ledgerOf(world);
    world.checkers.push(leaseRules(world, ledger));
    const holders = new Map(HOLDERS.map((name) => [name, addHolder(world, name)]));
    const operator = world.actor('operator', async (life) => life);
    return ({ details }) => {
      if ('action' in details) operate(world, operator, details as unknown as OperatorAction);
      else runTerm({ world, ledger }, holders, details as unknown as Term);
    };
  },
};

const HOLDERS = ['holder-1', 'holder-2', 'holder-3', 'holder-4'] as const;

/** Holders that reach the store through a coordinator, if there is one. */
const REMOTE: readonly string[] = ['holder-3', 'holder-4'];

function isRemote(world: World, name: string): boolean {
  return REMOTE.includes(name) && world.coordinators.length > 0;
}

function planTerm(random: Random): PlannedOperation {
  const holder = pick(random, HOLDERS);
  const key = pick(random, KEYS);
  const details: Term = {
    ...{ holder, key },
    isPatient: random.next() < 0.7,
    effects: between(random, 1, 5),
    exit: random.next() < 0.85 ? pick(random, EXITS.slice(0, 4)) : 'retired',
    ...(random.next() < 0.15 && { tenureMsMax: between(random, 300, 3_000) }),
    reopen: random.next() < 0.7,
    ...(random.next() < 0.2 && { isChild: true }),
  };
  const atMs = between(random, 0, ACTIVE_MS);
  return { atMs, of: 'leases', what: `${holder} wants ${key}`, details: { ...details } };
}

function planAction(random: Random): PlannedOperation {
  const action = pick(random, ['drain', 'drain', 'revoke', 'end-session', 'sweep'] as const);
  const shared = [...KEYS, VAULT].map((each) => `${OF_PROJECT}${each}`);
  const key = pick(random, [...KEYS, ...KEYS, ...shared]);
  const atMs = between(random, 500, ACTIVE_MS);
  return {
    atMs,
    of: 'leases',
    what: `the operator wants ${action} of ${key}`,
    details: { action, key },
  };
}

function addHolder(world: World, name: string): Actor<Session> {
  const random = world.stream(`settings of ${name}`);
  const ttlMs = pick(random, [1_000, 2_000, 3_000]);
  return world.actor(name, async (life: Life) => {
    const { clock, timers, random: dice } = life.process;
    const store = isRemote(world, name) ? await startLeaseClient(life) : life.link.store;
    return openSession({ store, owner: name, ttlMs, clock, timers, random: dice });
  });
}

interface Scene {
  readonly world: World;
  readonly ledger: Ledger;
}

function runTerm(scene: Scene, holders: ReadonlyMap<string, Actor<Session>>, term: Term): void {
  const holder = holders.get(term.holder);
  const { life, inside: session } = holder ?? {};
  if (life === undefined || session === undefined) return;
  // The code runs in the holder's process.
  scene.world.run(life.process, () => hold(scene, { life, session }, term));
}

async function hold(
  scene: Scene,
  { life, session }: { readonly life: Life; readonly session: Session },
  term: Term,
): Promise<void> {
  const { world } = scene;
  const { key, isPatient, tenureMsMax, reopen, isChild = false } = term;
  world.operations += 1;
  const own = isChild ? await childOf(session, life) : session;
  const outcome = await own.acquire(key, {
    ...(isPatient && { wait: true, timeoutMs: 8_000 }),
    ...(tenureMsMax && { tenureMsMax }),
    reopen,
  });
  if (outcome.kind !== 'acquired') return;
  const { lease } = outcome;
  const resource = isRemote(world, term.holder) ? `${OF_PROJECT}${key}` : key;
  world.note(`${life.process.name} holds ${resource} with fence ${lease.fence}.`);
  for (const intent of lease.intents) {
    world.operations += 1;
    await lease.settle(intent.effect);
  }
  for (let nth = 1; nth <= term.effects; nth += 1) {
    if (!(await makeEffect(scene, { life, lease, resource }, nth))) return;
  }
  world.operations += 1;
  await lease.release(term.exit);
  if (isChild) await own.close();
}

function childOf(session: Session, { process }: Life): Promise<Session> {
  const { clock, timers, random } = process;
  const { owner, ttlMs } = session;
  return session.openChild({ owner, ttlMs, clock, timers, random });
}

interface Holding {
  readonly life: Life;
  readonly lease: HeldLease;
  /** The resource that the lease protects. Through a coordinator, the same key protects something else. */
  readonly resource: string;
}

/** Returns false if the holder found that it no longer holds the lease. */
async function makeEffect(
  { world, ledger }: Scene,
  { life, lease, resource: key }: Holding,
  nth: number,
): Promise<boolean> {
  const { process } = life;
  const { fence } = lease;
  world.operations += 3;
  const effect = `${fence}/${nth}`;
  const begun = await lease.intent(effect);
  if (begun.kind !== 'begun') return false;
  // Between two calls of the store, only its own clock tells a holder that it must stop.
  const isLong = process.random.next() < 0.1;
  for (let left = between(process.random, 1, isLong ? 30 : 5); left > 0; left -= 1) {
    const forMs = between(process.random, 1, 60);
    try {
      lease.assertHeld(forMs);
    } catch {
      return false;
    }
    ledger.effect(process, { key, fence, forMs });
    ledger.write(process, key, fence);
    await process.timers.pause(forMs + between(process.random, 1, 250));
  }
  const saved = await lease.checkpoint(effect);
  if (saved.kind !== 'saved') return false;
  const settled = await lease.settle(effect);
  return settled.kind === 'settled';
}

function operate(world: World, operator: Actor<Life>, { action, key }: OperatorAction): void {
  const life = operator.life;
  if (life === undefined) return;
  world.operations += 1;
  world.run(life.process, async () => {
    const { store } = life.link;
    const { record } = await store.leases.inspect(parseLeaseKey(key));
    if (action === 'sweep') await store.sessions.sweep({ limit: 100 });
    if (record === undefined) return;
    const { fence } = record;
    const request = life.process.random.uuid();
    const about = { actor: 'operator', reason: 'simulated', request };
    const term = { ...(await placeOf(life, key)), fence, ...about };
    await term.store.leases.verify({ key: parseLeaseKey(term.key), fence });
    if (action === 'drain') await drainLease({ ...term, deadlineMs: 1_500, successor: 'holder-1' });
    if (action === 'revoke') await revokeLease(term);
    if (action === 'end-session') {
      const by = { kind: 'operator', actor: 'operator', reason: 'simulated' } as const;
      await store.sessions.end({ id: record.session, by });
    }
  });
}

/** The leases that the operator reaches: through a coordinator, those of its project. */
async function placeOf(
  life: Life,
  key: string,
): Promise<{ readonly store: LeaseService; readonly key: string }> {
  if (!key.startsWith(OF_PROJECT)) return { store: life.link.store, key };
  return { store: await startLeaseClient(life), key: key.slice(OF_PROJECT.length) };
}
