// A worker process as a user would write it, commanded step by step. See worker-api.ts.

import { existsSync } from 'node:fs';
import type { HeldLease, LeaseService, Session } from '../../../src/index.ts';
import { LeaseNotHeld, openSession } from '../../../src/index.ts';
import { parseEffectId } from '../../../src/lease/names.ts';
import { digestOf } from '../../../src/support/digest.ts';
import { OracleClient } from '../oracle/client.ts';
import { openStoreAt } from '../stage/store-address.ts';
import { emit, serveCalls } from './serve-calls.ts';
import type { Brief, Taken, WorkerApi } from './worker-api.ts';

const SPIN_MS_MAX = 30_000;
const POLL_MS = 100;

let running: { readonly store: LeaseService; readonly session: Session } | undefined;
const leases = new Map<string, HeldLease>();

function worker(): { readonly store: LeaseService; readonly session: Session } {
  if (running === undefined) throw new Error('open first');
  return running;
}

function held(key: string): HeldLease {
  const lease = leases.get(key);
  if (lease === undefined) throw new Error(`"${key}" was never acquired`);
  return lease;
}

function tenure(key: string) {
  const lease = held(key);
  return { key: lease.key, fence: lease.fence, session: worker().session.id };
}

function brief(answer: {
  readonly kind: string;
  readonly why?: string;
  readonly reason?: LeaseNotHeld;
}): Brief {
  const why = answer.why ?? answer.reason?.by;
  return { kind: answer.kind, ...(why === undefined ? {} : { why }) };
}

function assertNow(lease: HeldLease): Brief {
  try {
    lease.assertHeld(0);
    return { kind: 'held' };
  } catch (error) {
    if (!(error instanceof LeaseNotHeld)) throw error;
    return { kind: 'threw', why: error.by };
  }
}

function spinUntilExists(file: string): void {
  const startedAt = performance.now();
  while (!existsSync(file)) {
    if (performance.now() - startedAt > SPIN_MS_MAX)
      throw new Error('This process was not thawed.');
  }
}

function taken(key: string, lease: HeldLease): Taken {
  leases.set(key, lease);
  return {
    kind: 'acquired',
    fence: lease.fence,
    exit: lease.predecessor.exit,
    restored: lease.restored && Buffer.from(lease.restored.bytes).toString(),
    intents: lease.intents.map((intent) => intent.effect),
  };
}

serveCalls<WorkerApi>({
  async open({ store: address, owner, ttlMs, graceMs }) {
    const store = await openStoreAt(address);
    const grace = graceMs === undefined ? {} : { graceMs };
    running = { store, session: await openSession({ store, owner, ttlMs, ...grace }) };
  },
  async heartbeat() {
    return brief(await worker().session.heartbeat());
  },
  async acquire({ key, wait = false }) {
    const outcome = await worker().session.acquire(key, { wait, pollMs: POLL_MS });
    if (outcome.kind === 'acquired') return taken(key, outcome.lease);
    return { kind: outcome.kind, fence: 0, exit: 'none', restored: undefined, intents: [] };
  },
  assertHeld: ({ key }) => assertNow(held(key)),
  async spinUntilThawed({ key, thawed }) {
    const lease = held(key);
    await emit('spinning');
    spinUntilExists(thawed);
    return assertNow(lease);
  },
  async checkpoint({ key, text }) {
    return brief(await held(key).checkpoint(text));
  },
  async intent({ key, effect }) {
    return brief(await held(key).intent(effect));
  },
  async release({ key, exit }) {
    return brief(await held(key).release(exit));
  },
  async rejoin({ key }) {
    const outcome = await held(key).rejoin();
    if (outcome.kind !== 'rejoined') return brief(outcome);
    leases.set(key, outcome.lease);
    return { kind: outcome.kind, fence: outcome.lease.fence };
  },
  async checkpointAtStore({ key, seq, text }) {
    const bytes = Buffer.from(text);
    const request = { ...tenure(key), seq, bytes, digest: digestOf(bytes) };
    return brief(await worker().store.leases.checkpoint(request));
  },
  async intentAtStore({ key, effect }) {
    const request = { ...tenure(key), effect: parseEffectId(effect) };
    return brief(await worker().store.leases.beginIntent(request));
  },
  async releaseAtStore({ key }) {
    return brief(await worker().store.leases.release({ ...tenure(key), exit: 'finished' }));
  },
  async write({ key, port, effect }) {
    const { fence } = held(key);
    const oracle = await OracleClient.connect(port);
    const answer = await oracle.write({ fence, effect, who: worker().session.owner });
    oracle.close();
    return answer;
  },
  async close() {
    const answer = brief(await worker().session.close());
    await worker().store.close();
    return answer;
  },
});
