// Executions on PostgreSQL, one file per verb. Verbs of owners and submits are batched
// (../committer.ts). Commands, and items that a flush did not write, run in their own transactions.

import type { LeasePolicy } from '../../../lease/policy.ts';
import { chainState } from '../../../lease/session.ts';
import { systemClock } from '../../../support/clock.ts';
import { systemRandom } from '../../../support/random.ts';
import { systemTimers } from '../../../support/timer.ts';
import type { ExecutionStore } from '../../contract/execution-store.ts';
import type { Natives } from '../../sql/changes.ts';
import { listsOf } from '../../sql/list.ts';
import type { SweepFor } from '../../sql/repair.ts';
import { native } from '../../sql/script.ts';
import { verbsOf } from '../../sql/verbs.ts';
import type { StoreEnvironment } from '../committer.ts';
import type { Database, Queries } from '../database.ts';
import { gatewayOf } from '../gateway.ts';
import type { Hints } from '../hints.ts';
import { loadChains } from '../load-view.ts';
import { findSnapshotProblem } from '../oldest-snapshot.ts';
import { sweep } from '../sweep.ts';
import { claim } from './claim.ts';
import { ClaimFloors } from './claim-floors.ts';
import { giverBack, parker } from './end-claims.ts';
import { endWaiting } from './end-execution.ts';
import { finisher } from './finish.ts';
import { insertWithSlots } from './insert-executions.ts';
import { SeqLedger } from './ledger.ts';
import { baseLeads } from './list.ts';
import { OrphanedClaims } from './orphaned-claims.ts';
import { Boundaries, type Parts } from './parts.ts';
import { recorder } from './record.ts';
import { redriver } from './redrive.ts';
import { handOn } from './slots.ts';
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
    executions: { ...othersOf(parts), submit, record, finish, park, giveBack, redrive },
    async close() {
      await Promise.all(flushing.map((each) => each.close()));
      await wakeups.close();
    },
  };
}

function othersOf(parts: Parts) {
  const { database, wakeups } = parts;
  const gateway = gatewayOf(parts);
  return {
    ...verbsOf(gateway, NATIVES, sweeper(parts)),
    ...listsOf(gateway, baseLeads),
    claim: (request) => claim(parts, request),
    submitWithin: (client, request) => submitWithin(parts, client, request),
    // The server works in parallel to this process, so more concurrency is faster.
    room: () => Number.POSITIVE_INFINITY,
    transact: (request) => transact(parts, request),
    findProblem: () => findSnapshotProblem(database),
    onWakeup: (listener) => wakeups.listen(listener),
  } satisfies Partial<ExecutionStore>;
}

/** This store's functions for scripts. Hot verbs use them too. */
const NATIVES: Natives = {
  endWaiting: (before, end) => native((queries: Queries) => endWaiting(queries, before, end)),
  submit: (request) =>
    native(async (queries: Queries) => {
      const [isNew] = await insertWithSlots(queries, [request], false);
      return isNew === true;
    }),
  handOn: ({ project, key, limit, taken, now }) =>
    native(async (queries: Queries) => {
      const entry = { slots: { limit, taken }, of: [project, key] };
      await handOn(queries, { entry, taken, now });
    }),
};

const SWEEP_MAX = 100;

function sweeper({ database, policy }: Parts): SweepFor {
  return async (session) => {
    const isEnded = async (): Promise<boolean> => {
      const { now, chains } = await loadChains(database, [session]);
      return chainState(chains[0] ?? [], now) === 'ended';
    };
    // An earlier sweep may already have ended this session.
    if (await isEnded()) return true;
    await sweep(database, policy, { limit: SWEEP_MAX });
    return isEnded();
  };
}
