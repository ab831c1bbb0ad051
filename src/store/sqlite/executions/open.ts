import { assert } from '../../../support/assert.ts';
import type { ExecutionStore, OwnerWrite } from '../../contract/execution-store.ts';
import type { Natives } from '../../sql/changes.ts';
import { isKeyed, keyedOf, withinOf } from '../../sql/keyed.ts';
import { listsOf } from '../../sql/list.ts';
import type { SweepFor } from '../../sql/repair.ts';
import { native } from '../../sql/script.ts';
import { verbsOf } from '../../sql/verbs.ts';
import { clockProblem } from '../clock-problem.ts';
import type { Database } from '../database.ts';
import { gatewayOf } from '../gateway.ts';
import { sweep } from '../sweep.ts';
import type { Transaction } from '../transaction.ts';
import { joiner } from '../within.ts';
import { endWaiting } from './end-execution.ts';
import { finish } from './finish.ts';
import { handOn } from './gates.ts';
import { giveBack } from './give-back.ts';
import { baseLeads } from './list.ts';
import { loadRow } from './load-execution.ts';
import { OrphanedClaims } from './orphaned-claims.ts';
import { record } from './owner.ts';
import { park } from './park.ts';
import { redriver } from './redrive.ts';
import { changeRollout, submit } from './submit.ts';
import { transact } from './transact.ts';

/**
 * A longer queue raises no throughput: one thread does all the work, and the data of thousands of
 * executions does not fit a cache. With a much shorter queue, each commit, which waits for the
 * disk, contains less.
 */
const WAITING_MAX = 2_000;

export function executionsOf(database: Database): ExecutionStore {
  const orphanedClaims = new OrphanedClaims(database);
  const gateway = gatewayOf(database);
  const keyed = keyedOf(gateway, NATIVES);
  const join = joiner(database);
  return {
    ...verbsOf(gateway, NATIVES, sweeper(database)),
    ...listsOf(gateway, baseLeads),
    claimsJoinSubmits: true,
    submit: (request) =>
      isKeyed(request) ? keyed.submit(request) : database.perform(submit, request),
    within: (client) => withinOf(join(client), NATIVES),
    claim: (request) => orphanedClaims.claim(request),
    room: () => Math.max(0, WAITING_MAX - database.waiting),
    record: (request) => database.perform(record, withOwnBytes(request)),
    transact: (request) => database.perform(transact, withOwnBytes(request)),
    finish: (request) => database.perform(finish, withOwnBytes(request)),
    park: (request) => database.perform(park, withOwnBytes(request)),
    giveBack: (request) => database.perform(giveBack, withOwnBytes(request)),
    redrive: redriver(database),
    changeRollout: (request) => database.perform(changeRollout, request),
    findProblem: () => clockProblem(database),
    onWakeup: (listener) => database.onWakeup(listener),
  };
}

/**
 * Copies the bytes, so that a caller that changes its array before the flush cannot change the
 * stored value (K-3).
 */
function withOwnBytes<Request extends Pick<OwnerWrite, 'attachments'>>(request: Request): Request {
  if (request.attachments === undefined) return request;
  const attachments = request.attachments.map((each) => ({
    ...each,
    bytes: Uint8Array.from(each.bytes),
  }));
  return { ...request, attachments };
}

/** This store's functions for scripts. Hot verbs use them too. */
const NATIVES: Natives = {
  endWaiting: ({ id }, end) =>
    native((tx: Transaction) => {
      const row = loadRow(tx, id);
      assert(row !== undefined, 'X-17: an execution that is ended is stored');
      endWaiting(tx, row, end);
    }),
  submit: (request) =>
    native((tx: Transaction) => {
      const result = submit(tx, request);
      return result.kind === 'submitted' && !result.existing;
    }),
  handOn: ({ project, key, limit }) =>
    native((tx: Transaction) => {
      handOn(tx, { project, concurrency: { key, limit } });
    }),
  isOpen: (session) => native((tx: Transaction) => tx.isOpen(session)),
};

const SWEEP_MAX = 100;

function sweeper(database: Database): SweepFor {
  return (session) =>
    database.perform((tx) => {
      // An earlier sweep may already have ended this session.
      if (tx.isOpen(session)) sweep(tx, { limit: SWEEP_MAX });
      return !tx.isOpen(session);
    }, undefined);
}
