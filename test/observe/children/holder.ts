// A process that holds keys and records what happens, step by step as commanded. See holder-api.ts.

import type { HeldLease, KernelStore, Session } from '../../../src/index.ts';
import { openSession } from '../../../src/index.ts';
import { type LeaseRecorder, recordLeases } from '../../../src/observe/lease-log/recorder.ts';
import { seededRandom } from '../../../src/support/random.ts';
import { systemTimers } from '../../../src/support/timer.ts';
import { serveCalls } from '../../processes/children/serve-calls.ts';
import type { HolderApi, HoldKeys } from './holder-api.ts';
import { openTrialStore } from './open-store.ts';

interface Holding {
  readonly store: KernelStore;
  readonly recorder: LeaseRecorder;
  readonly input: HoldKeys;
  readonly sessions: Map<string, Session>;
  readonly leases: HeldLease[];
}

let holding: Holding | undefined;

function current(): Holding {
  if (holding === undefined) throw new Error('hold first');
  return holding;
}

async function openFor(key: string): Promise<Session> {
  const { store, recorder, input, sessions } = current();
  const session = await openSession({
    store,
    owner: `holder of ${key}`,
    ttlMs: input.ttlMs,
    observer: recorder,
  });
  sessions.set(key, session);
  return session;
}

const TRIES_MAX = 5;

/**
 * Tries again with a new session if a busy machine let the first one expire before it got the key.
 */
async function take(key: string): Promise<HeldLease> {
  let last = '';
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const got = await (await openFor(key)).acquire(key, { wait: true });
    if (got.kind === 'acquired') return got.lease;
    last = got.kind;
  }
  throw new Error(`"${key}" was not acquired: ${last}`);
}

/** Like a long computation: meanwhile no timer fires, and no answer is read. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

const STRATA = 8;

/**
 * Exponential lengths, dealt like cards: each eight in a row have one from each eighth of the
 * distribution. So a short run has its fair share of long ones, and only their order is random.
 */
function exponentialDraws(mean: number, seed: number): () => number {
  const random = seededRandom(seed);
  let deck: number[] = [];
  return () => {
    if (deck.length === 0) deck = Array.from({ length: STRATA }, (_, stratum) => stratum);
    const [stratum = 0] = deck.splice(Math.floor(random.next() * deck.length), 1);
    return -mean * Math.log(1 - (stratum + random.next()) / STRATA);
  };
}

serveCalls<HolderApi>({
  async hold(input) {
    const store = await openTrialStore(input.storeFile);
    const recorder = recordLeases({ file: input.log });
    holding = { store, recorder, input, sessions: new Map(), leases: [] };
    const fences: number[] = [];
    for (const key of input.keys) {
      const lease = await take(key);
      holding.leases.push(lease);
      fences.push(lease.fence);
    }
    return fences;
  },
  async checkpoint({ text }) {
    let saved = 0;
    for (const lease of current().leases) {
      if ((await lease.checkpoint(text)).kind === 'saved') saved += 1;
    }
    return saved;
  },
  async stall({ forMs, meanGapMs, meanStallMs, seed }) {
    const gap = exponentialDraws(meanGapMs, seed);
    const stall = exponentialDraws(meanStallMs, seed + 1_000);
    const startedAt = performance.now();
    let lost = 0;
    while (performance.now() - startedAt < forMs) {
      await systemTimers.pause(gap());
      block(stall());
      for (const [key, session] of current().sessions) {
        if (!session.signal.aborted) continue;
        lost += 1;
        await openFor(key);
      }
    }
    return { lost, heldMs: (performance.now() - startedAt) * current().sessions.size };
  },
  async flush() {
    await current().recorder.flush();
  },
});
