// Executions on PostgreSQL, one file per verb. Verbs of owners and submits are batched
// (../committer.ts). Commands, and items that a flush did not write, run in their own transactions.

import type { LeasePolicy } from '../../../lease/policy.ts';
import { systemClock } from '../../../support/clock.ts';
import { systemRandom } from '../../../support/random.ts';
import { systemTimers } from '../../../support/timer.ts';
import type { ExecutionStore } from '../../contract/execution-store.ts';
import { verbsOf } from '../../sql/verbs.ts';
import type { StoreEnvironment } from '../committer.ts';
import type { Database } from '../database.ts';
import { gatewayOf } from '../gateway.ts';
import type { Hints } from '../hints.ts';
import { findSnapshotProblem } from '../oldest-snapshot.ts';
import { claim } from './claim.ts';
import { ClaimFloors } from './claim-floors.ts';
import { giverBack, parker } from './end-claims.ts';
import { finisher } from './finish.ts';
import { SeqLedger } from './ledger.ts';
import { listEdge, listExecutions } from './list.ts';
import { NATIVES, sweeper } from './natives.ts';
import { OrphanedClaims } from './orphaned-claims.ts';
import { Boundaries, type Parts } from './parts.ts';
import { recorder } from './record.ts';
import { redriver } from './redrive.ts';
import { submitter, submitWithin } from './submit.ts';
import { transact } from './transact.ts';
import { PostgresWakeups } from './wakeups.ts';

const ENVIRONMENT: StoreEnvironment = {
  timers: systemTimers,
  random: systemRandom,
  clock: systemClock,
};

export interface ExecutionsConfig {
  readonly database: Database;
  readonly policy: LeasePolicy;
  readonly hints: Hints;
  readonly onBoundary: ((phase: 'before' | 'after', n: number) => void) | undefined;
}

export function openExecutions(
  config: ExecutionsConfig,
  environment: StoreEnvironment = ENVIRONMENT,
): {
  readonly executions: ExecutionStore;
  close(): Promise<void>;
} {
  const { database, policy } = config;
  const { timers, random } = environment;
  const wakeups = new PostgresWakeups(config.hints, timers, random.uuid());
  const boundaries = new Boundaries(config.onBoundary);
  const parts: Parts = {
    database,
    policy,
    environment,
    boundaries,
    wakeups,
    ledger: new SeqLedger(),
    orphanedClaims: new OrphanedClaims(environment.clock),
    floors: new ClaimFloors(database, environment.clock),
  };
  const flushing = [
    submitter(parts),
    recorder(parts),
    finisher(parts),
    parker(parts),
    giverBack(parts),
    redriver(parts),
  ] as const;
  const [{ submit }, { record }, { finish }, { park }, { giveBack }, { redrive }] = flushing;
  return {
    executions: { submit, record, finish, park, giveBack, redrive, ...othersOf(parts) },
    async close() {
      await Promise.all(flushing.map((each) => each.close()));
      await wakeups.close();
    },
  };
}

type Flushing = 'submit' | 'record' | 'finish' | 'park' | 'giveBack' | 'redrive';

function othersOf(parts: Parts): Omit<ExecutionStore, Flushing> {
  const { database, wakeups } = parts;
  return {
    ...verbsOf(gatewayOf(parts), NATIVES, sweeper(parts)),
    claim: (request) => claim(parts, request),
    submitWithin: (client, request) => submitWithin(parts, client, request),
    // The server works in parallel to this process, so more concurrency is faster.
    room: () => Number.POSITIVE_INFINITY,
    transact: (request) => transact(parts, request),
    list: (query) => listExecutions(database, query),
    listEdge: (query) => listEdge(database, query),
    findProblem: () => findSnapshotProblem(database),
    onWakeup: (listener) => wakeups.listen(listener),
  };
}
