// One of several processes that want the same key. Each round: acquire, write to the oracle, add
// one to the checkpointed counter, write to the oracle again, release.

import { setTimeout as pause } from 'node:timers/promises';
import type { HeldLease, Session } from '../../../src/index.ts';
import { openSession } from '../../../src/index.ts';
import { OracleClient } from '../oracle/client.ts';
import { openStoreAt, type StoreAddress } from '../stage/store-address.ts';
import { serveCalls } from './serve-calls.ts';

export interface Contest {
  readonly store: StoreAddress;
  readonly oraclePort: number;
  readonly key: string;
  readonly rounds: number;
  /** Ends early after `roundsMin` rounds if it takes longer. */
  readonly withinMs: number;
  readonly roundsMin: number;
  /** In the queue, or by repeated requests. */
  readonly wait: boolean;
}

export interface ContenderApi {
  contend(contest: Contest): Promise<{ readonly rounds: number; readonly refusals: number }>;
}

const WHO = `contender ${process.pid}`;
const BETWEEN_TRIES_MS = 2;
let refusals = 0;

async function taken(session: Session, { key, wait }: Contest): Promise<HeldLease> {
  for (;;) {
    const outcome = await session.acquire(key, wait ? { wait: true, pollMs: 10 } : {});
    if (outcome.kind === 'acquired') return outcome.lease;
    const contended =
      outcome.kind === 'refused' && (outcome.why === 'held' || outcome.why === 'behind-others');
    if (!contended) throw new Error(`acquire: ${JSON.stringify(outcome)}`);
    refusals += 1;
    await pause(BETWEEN_TRIES_MS * Math.random());
  }
}

async function playRound(lease: HeldLease, oracle: OracleClient): Promise<void> {
  const { fence, restored } = lease;
  lease.assertHeld(0);
  await oracle.write({ fence, effect: 'enter', who: WHO });
  const counter = restored === undefined ? 0 : Number(Buffer.from(restored.bytes).toString());
  const saved = await lease.checkpoint(String(counter + 1));
  if (saved.kind !== 'saved') throw new Error(`checkpoint: ${JSON.stringify(saved)}`);
  await oracle.write({ fence, effect: 'leave', who: WHO });
  const released = await lease.release('yielded');
  if (released.kind !== 'released') throw new Error(`release: ${JSON.stringify(released)}`);
}

serveCalls<ContenderApi>({
  async contend(contest) {
    const store = await openStoreAt(contest.store);
    const session = await openSession({ store, owner: WHO });
    const oracle = await OracleClient.connect(contest.oraclePort);
    const startedAt = performance.now();
    const isTimeUp = (): boolean => performance.now() - startedAt > contest.withinMs;
    let rounds = 0;
    while (rounds < contest.rounds && !(isTimeUp() && rounds >= contest.roundsMin)) {
      await playRound(await taken(session, contest), oracle);
      rounds += 1;
    }
    await session.close();
    await store.close();
    oracle.close();
    return { rounds, refusals };
  },
});
