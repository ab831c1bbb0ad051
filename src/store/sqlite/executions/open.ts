import type { CensusStore } from '../../contract/census-store.ts';
import type { ExecutionStore, OwnerWrite } from '../../contract/execution-store.ts';
import { auditsOf } from '../../sql/audit.ts';
import { deadLettersOf } from '../../sql/dead-letters.ts';
import { refusalsOf } from '../../sql/refusals.ts';
import { releasesOf } from '../../sql/releases.ts';
import { schedulesOf } from '../../sql/schedules.ts';
import { templatesOf } from '../../sql/templates.ts';
import { workersOf } from '../../sql/workers.ts';
import { clockProblem } from '../clock-problem.ts';
import type { Database } from '../database.ts';
import { gatewayOf } from '../gateway.ts';
import { attachment, attachments } from './attachments.ts';
import { answer, assignAwait, cancelAwait, expireAwaits, extendAwait } from './awaits.ts';
import { payloadsOf } from './blobs.ts';
import { carried } from './carried.ts';
import { depth, inFlight } from './census.ts';
import { cancel, pause, resume, signal } from './command.ts';
import { finish } from './finish.ts';
import { fireSchedule } from './fire-schedule.ts';
import { FIRST_KEYS } from './forget-keys.ts';
import { giveBack } from './give-back.ts';
import { children, histories, history, inbox } from './history.ts';
import { interaction, interactions, lateAnswers } from './interactions.ts';
import { list } from './list.ts';
import { readExecution, readMany } from './load-execution.ts';
import { maintain } from './maintain.ts';
import { moveExecution } from './move-execution.ts';
import { outcomes } from './outcomes.ts';
import { record } from './owner.ts';
import { park } from './park.ts';
import { changeLine } from './pin.ts';
import { repairsOf } from './repair-verbs.ts';
import { Strays } from './strays.ts';
import { submit, submitted } from './submit.ts';
import { transact } from './transact.ts';

/**
 * With more in the queue nothing gets faster: everything is done on one thread, and what thousands of
 * executions need does not fit into a cache. With much less each commit, which waits for the disk, has less in it.
 */
const WAITING_MAX = 2_000;

export function executionsOf(database: Database): ExecutionStore {
  const strays = new Strays(database);
  const gateway = gatewayOf(database);
  let keys = FIRST_KEYS;
  return {
    submit: (request) => database.perform(submit, request),
    claim: (request) => strays.claim(request),
    carried: (query) => database.read((tx) => carried(tx, query)),
    room: () => Math.max(0, WAITING_MAX - database.waiting),
    record: (request) => database.perform(record, withOwnBytes(request)),
    transact: (request) => database.perform(transact, withOwnBytes(request)),
    finish: (request) => database.perform(finish, withOwnBytes(request)),
    park: (request) => database.perform(park, withOwnBytes(request)),
    giveBack: (request) => database.perform(giveBack, withOwnBytes(request)),
    inbox: (query) => database.read((tx) => inbox(tx, query)),
    cancel: (request) => database.perform(cancel, request),
    pause: (request) => database.perform(pause, request),
    resume: (request) => database.perform(resume, request),
    signal: (request) => database.perform(signal, request),
    maintain: async ({ limit }) => {
      const { marks, ...answer } = await database.perform(maintain, { limit, after: keys });
      keys = marks;
      return answer;
    },
    submitted: (request) => database.read((tx) => submitted(tx, request)),
    read: (id) => database.read((tx) => readExecution(tx, id)),
    readMany: (ids) => database.read((tx) => readMany(tx, ids)),
    outcomes: (ids) => database.read((tx) => outcomes(tx, ids)),
    history: (query) => database.read((tx) => history(tx, query)),
    histories: (query) => database.read((tx) => histories(tx, query)),
    list: (query) => database.read((tx) => list(tx, query)),
    children: (query) => database.read((tx) => children(tx, query)),
    attachment: (query) => database.read((tx) => attachment(tx, query)),
    attachments: (id) => database.read((tx) => attachments(tx, id)),
    ...payloadsOf(database),
    ...templatesOf(gateway),
    ...schedulesOf(gateway),
    fireSchedule: (request) => database.perform(fireSchedule, request),
    answer: (request) => database.perform(answer, request),
    expireAwaits: (request) => database.perform(expireAwaits, request),
    extendAwait: (request) => database.perform(extendAwait, request),
    assignAwait: (request) => database.perform(assignAwait, request),
    cancelAwait: (request) => database.perform(cancelAwait, request),
    interaction: (query) => database.read((tx) => interaction(tx, query)),
    interactions: (query) => database.read((tx) => interactions(tx, query)),
    lateAnswers: (query) => database.read((tx) => lateAnswers(tx, query)),
    ...auditsOf(gateway),
    ...refusalsOf(gateway),
    ...deadLettersOf(gateway),
    ...repairsOf(database),
    ...releasesOf(gateway),
    ...workersOf(gateway),
    changeLine: (request) => database.perform(changeLine, request),
    moveExecution: (request) => database.perform(moveExecution, request),
    ...looksOf(database),
    onRing: (listener) => listen(database, listener),
  };
}

function looksOf(database: Database): CensusStore {
  return {
    inFlight: (query) => database.read((tx) => inFlight(tx, query)),
    depth: (query) => database.read((tx) => depth(tx, query)),
    findProblem: () => clockProblem(database),
  };
}

function listen({ rings }: Database, listener: () => void): () => void {
  rings.add(listener);
  return () => rings.delete(listener);
}

/** K-3: what the caller does to its bytes before the flush cannot reach what is stored. */
function withOwnBytes<Request extends Pick<OwnerWrite, 'attachments'>>(request: Request): Request {
  if (request.attachments === undefined) return request;
  const attachments = request.attachments.map((each) => ({
    ...each,
    bytes: Uint8Array.from(each.bytes),
  }));
  return { ...request, attachments };
}
