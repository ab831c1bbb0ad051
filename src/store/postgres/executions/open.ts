// Executions on PostgreSQL, one file per verb. Verbs of owners and submits are batched
// (../committer.ts). Commands, and items that a flush did not write, run in their own transactions.

import type { SessionId } from '../../../lease/names.ts';
import type { LeasePolicy } from '../../../lease/policy.ts';
import { chainState } from '../../../lease/session.ts';
import type { ExecutionStore } from '../../contract/execution-store.ts';
import type { Natives } from '../../sql/changes.ts';
import { isKeyed, keyedOf, withinOf } from '../../sql/keyed.ts';
import { listsOf } from '../../sql/list.ts';
import type { SweepFor } from '../../sql/repair.ts';
import { native } from '../../sql/script.ts';
import { verbsOf } from '../../sql/verbs.ts';
import { type StoreEnvironment, SYSTEM } from '../committer.ts';
import type { Database, Queries } from '../database.ts';
import { gatewayOf } from '../gateway.ts';
import type { Hints } from '../hints.ts';
import { loadChains } from '../load-view.ts';
import { findSnapshotProblem } from '../oldest-snapshot.ts';
import { sweep } from '../sweep.ts';
import { claim } from './claim.ts';
import { ClaimBehind } from './claim-behind.ts';
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
import { submitter } from './submit.ts';
import { transact } from './transact.ts';
import { PostgresWakeups } from './wakeups.ts';
import { gatewayOn } from './within.ts';

export interface ExecutionsConfig {
  readonly database: Database;
  readonly policy: LeasePolicy;
  readonly hints: Hints;
  readonly onBoundary: ((phase: 'before' | 'after', n: number) => void) | undefined;
}

export function openExecutions(
  config: ExecutionsConfig,
  environment: StoreEnvironment = SYSTEM,
): { readonly executions: ExecutionStore; close(): Promise<void> } {
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
    claimBehind: new ClaimBehind(timers),
  };
  const flushing = [
    submitter(parts),
    recorder(parts),
    finisher(parts),
    parker(parts),
    giverBack(parts),
    redriver(parts),
  ] as const;
  const [submits, { record }, { finish }, { park }, { giveBack }, { redrive }] = flushing;
  const keyed = keyedOf(gatewayOf(parts), NATIVES);
  const submit: ExecutionStore['submit'] = (request) =>
    (isKeyed(request) ? keyed : submits).submit(request);
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
    claimsJoinSubmits: true,
    within: (client) => withinOf(gatewayOn(parts, client), NATIVES),
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
      const [isWritten] = await insertWithSlots(queries, [request], false);
      return isWritten === true;
    }),
  handOn: ({ project, key, limit, taken, now }) =>
    native(async (queries: Queries) => {
      const entry = { slots: { limit, taken }, of: [project, key] };
      await handOn(queries, { entry, taken, now });
    }),
  isOpen: (session) => native((queries: Queries) => isOpen(queries, session)),
};

async function isOpen(queries: Queries, session: SessionId): Promise<boolean> {
  const { now, chains } = await loadChains(queries, [session]);
  return chainState(chains[0] ?? [], now) !== 'ended';
}

const SWEEP_MAX = 100;

function sweeper({ database, policy }: Parts): SweepFor {
  return async (session) => {
    const isEnded = async (): Promise<boolean> => !(await isOpen(database, session));
    // An earlier sweep may already have ended this session.
    if (await isEnded()) return true;
    await sweep(database, policy, { limit: SWEEP_MAX });
    return isEnded();
  };
}
