import type { ExecutionStore, OwnerWrite } from '../../contract/execution-store.ts';
import { archivesOf } from '../../sql/archived.ts';
import { auditsOf } from '../../sql/audit.ts';
import { awaitsOf } from '../../sql/awaits.ts';
import { payloadsOf } from '../../sql/blobs.ts';
import { censusOf } from '../../sql/census.ts';
import { commandsOf } from '../../sql/commands.ts';
import { deadLettersOf } from '../../sql/dead-letters.ts';
import { readsOf } from '../../sql/executions.ts';
import { ForgottenKeys } from '../../sql/forget-keys.ts';
import { jobsOf } from '../../sql/jobs.ts';
import { reconcileOf } from '../../sql/mend.ts';
import { refusalsOf } from '../../sql/refusals.ts';
import { releasesOf } from '../../sql/releases.ts';
import { removalsOf } from '../../sql/remove.ts';
import { schedulesOf } from '../../sql/schedules.ts';
import { templatesOf } from '../../sql/templates.ts';
import { workersOf } from '../../sql/workers.ts';
import { clockProblem } from '../clock-problem.ts';
import type { Database } from '../database.ts';
import { gatewayOf } from '../gateway.ts';
import { finish } from './finish.ts';
import { fireSchedule } from './fire-schedule.ts';
import { giveBack } from './give-back.ts';
import { list } from './list.ts';
import { maintain } from './maintain.ts';
import { NATIVES, sweeper } from './natives.ts';
import { record } from './owner.ts';
import { park } from './park.ts';
import { changeLine } from './pin.ts';
import { redrive } from './redrive.ts';
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
  const keys = new ForgottenKeys(gateway);
  return {
    submit: (request) => database.perform(submit, request),
    claim: (request) => strays.claim(request),
    room: () => Math.max(0, WAITING_MAX - database.waiting),
    record: (request) => database.perform(record, withOwnBytes(request)),
    transact: (request) => database.perform(transact, withOwnBytes(request)),
    finish: (request) => database.perform(finish, withOwnBytes(request)),
    park: (request) => database.perform(park, withOwnBytes(request)),
    giveBack: (request) => database.perform(giveBack, withOwnBytes(request)),
    ...commandsOf(gateway, NATIVES),
    maintain: async (request) => ({
      ...(await database.perform(maintain, request)),
      forgotten: await keys.forgetSome(request.limit),
    }),
    submitted: (request) => database.read((tx) => submitted(tx, request)),
    list: (query) => database.read((tx) => list(tx, query)),
    ...readsOf(gateway),
    ...payloadsOf(gateway),
    ...templatesOf(gateway),
    ...schedulesOf(gateway),
    fireSchedule: (request) => database.perform(fireSchedule, request),
    ...awaitsOf(gateway, NATIVES),
    ...auditsOf(gateway),
    ...refusalsOf(gateway),
    ...deadLettersOf(gateway),
    redrive: (request) => database.perform(redrive, request),
    ...reconcileOf(gateway, NATIVES, sweeper(database)),
    ...jobsOf(gateway),
    ...archivesOf(gateway),
    ...removalsOf(gateway),
    ...releasesOf(gateway),
    ...workersOf(gateway),
    changeLine: (request) => database.perform(changeLine, request),
    ...censusOf(gateway),
    findProblem: () => clockProblem(database),
    onRing: (listener) => listen(database, listener),
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
