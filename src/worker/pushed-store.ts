// One pushed claim as a store: the engine claims it, reads the data that came with it, and writes.
// With a coordinator connection, each write is recorded before the next step. Without one, the
// response carries all of them.

import type { HistoryEvent } from '../execution/history.ts';
import type { PipelineName } from '../execution/names.ts';
import type { Owner, SessionId } from '../lease/names.ts';
import { DEFAULT_POLICY } from '../lease/policy.ts';
import type { Driven, PushResult } from '../protocol/messages/push.ts';
import type {
  Finish,
  GiveBack,
  OwnerWrite,
  Park,
  WorkerExecutions,
  WorkerStore,
} from '../store/contract/execution-store.ts';
import { systemClock, toInstant } from '../support/clock.ts';
import { Fault } from '../support/fault.ts';
import { NOT_ITS_OWN, withoutHeartbeats, withText } from './remote-store.ts';

interface Pushed {
  readonly store: WorkerStore;
  /** Resolves when the engine has left the execution. */
  readonly left: Promise<void>;
  /** The writes, in order. */
  readonly result: Required<Pick<PushResult, 'writes' | 'blobs'>>;
}

/** `connection` performs the owner's writes at once. */
export function pushedStore(drive: Driven, connection?: WorkerStore): Pushed {
  const result: Required<Pick<PushResult, 'writes' | 'blobs'>> = { writes: [], blobs: [] };
  const { promise: left, resolve } = Promise.withResolvers<void>();
  const leaving = async <Reply>(write: Promise<Reply>): Promise<Reply> => {
    const reply = await write;
    resolve();
    return reply;
  };
  const verbs =
    connection === undefined ? kept(drive, result) : recorded(drive, connection.executions);
  let isClaimed = false;
  const executions: WorkerExecutions = {
    async claim({ pipelines }) {
      const { claimed } = drive;
      const isMeant = !isClaimed && pipelines.includes(claimed.execution.pipeline as PipelineName);
      isClaimed = true;
      return { kind: 'claimed', claims: isMeant ? [claimed] : [], more: false, overdue: false };
    },
    // The coordinator announces the endpoint after its probe.
    announce: async () => ({ kind: 'announced' }),
    room: () => 1,
    onWakeup: () => () => undefined,
    transact: () => {
      throw elsewhere('ctx.transaction');
    },
    expireAwaits: async () => ({ settled: 0, started: 0, more: false }),
    ...verbs,
    finish: (request) => leaving(verbs.finish(request)),
    park: (request) => leaving(verbs.park(request)),
    giveBack: (request) => leaving(verbs.giveBack(request)),
  };
  const store: WorkerStore = {
    kind: 'remote',
    policy: DEFAULT_POLICY,
    durability: 'what the coordinator’s store survives',
    hintsReach: 'this-process',
    sessions: sessionsHere(drive, connection?.sessions, resolve),
    executions,
    onHint: () => () => undefined,
    close: async () => undefined,
  };
  return { store, left, result };
}

type Verbs = Pick<
  WorkerExecutions,
  | ('record' | 'finish' | 'park' | 'giveBack' | 'history' | 'inbox' | 'read' | 'interaction')
  | ('putBlob' | 'getBlob' | 'attributeBlobs' | 'messageChild')
>;

/** Collects all writes for the response. */
function kept(
  drive: Driven,
  { writes, blobs }: Required<Pick<PushResult, 'writes' | 'blobs'>>,
): Verbs {
  const { claimed, history, inbox } = drive;
  const inboxCount = inbox.at(-1)?.n ?? 0;
  const written: HistoryEvent[] = [];
  const keep = (verb: string, request: OwnerWrite): void => {
    // Heartbeats would arrive after the call, when no attempt needs them.
    const own = { ...withoutHeartbeats(request), session: drive.session as SessionId };
    writes.push(JSON.parse(JSON.stringify({ verb, ...withText(own) })));
    const { seq, fence, events } = request;
    for (const event of events) {
      written.push({ ...event, seq: seq + events.indexOf(event), at: now(), fence });
    }
  };
  const now = (): ReturnType<typeof toInstant> => toInstant(systemClock.wallMs());
  return {
    async record(request) {
      keep('record', request);
      return { kind: 'recorded', inboxCount, at: now() };
    },
    async finish(request: Finish) {
      // A refusal would come after this call, and the coordinator performs its writes together.
      const { inboxSeen: _, ...unguarded } = request;
      keep('finish', request.successor === undefined ? unguarded : request);
      return { kind: 'finished', at: now() };
    },
    async park(request: Park) {
      keep('park', request);
      return { kind: 'parked' };
    },
    async giveBack(request: GiveBack) {
      keep('giveBack', request);
      return { kind: 'given-back' };
    },
    history: async ({ after, limit }) =>
      [...history, ...written].filter(({ seq }) => seq > after).slice(0, limit),
    inbox: async ({ after, limit }) => inbox.filter(({ n }) => n > after).slice(0, limit),
    read: async (id) => {
      if (id === claimed.execution.id) return claimed.execution;
      throw elsewhere('Another execution');
    },
    messageChild() {
      throw elsewhere('A child');
    },
    interaction() {
      throw elsewhere('The question of an answer');
    },
    async putBlob({ digest, bytes }) {
      blobs.push({ digest, bytes: Buffer.from(bytes).toString('base64') });
    },
    getBlob() {
      throw elsewhere('A value that is too large for its row');
    },
    attributeBlobs: async () => undefined,
  };
}

/**
 * Writes as the claim's worker. The engine's added pipelines work too, so this handler can check
 * answers.
 */
function recorded(drive: Driven, recorder: WorkerExecutions): Verbs {
  const as = <Request extends OwnerWrite>(request: Request): Request => ({
    ...request,
    session: drive.session as OwnerWrite['session'],
  });
  const { history, inbox, read, interaction, putBlob, getBlob, attributeBlobs } = recorder;
  return {
    record: (request) => recorder.record(as(request)),
    finish: (request) => recorder.finish(as(request)),
    park: (request) => recorder.park(as(request)),
    giveBack: (request) => recorder.giveBack(as(request)),
    messageChild: (request) =>
      recorder.messageChild({ ...request, session: drive.session as OwnerWrite['session'] }),
    ...{ history, inbox, read, interaction, putBlob, getBlob, attributeBlobs },
  };
}

/**
 * The coordinator owns the real session and keeps it alive while it waits. With a coordinator
 * connection, heartbeats ask that session for notices (M-9). When it is over, so is the call.
 */
function sessionsHere(
  { session, owner }: Driven,
  remote: WorkerStore['sessions'] | undefined,
  over: () => void,
): WorkerStore['sessions'] {
  const life = {
    ttlMs: owner === undefined || remote === undefined ? HOUR_MS : 3 * REPLY_TIMEOUT_MS,
    graceMs: 1,
    authorityMs: HOUR_MS,
    remainingMs: HOUR_MS,
    notices: 0,
  };
  const alive = { kind: 'alive', rejoined: false, ...life } as const;
  return {
    open: async () => ({ kind: 'opened', replayed: false, ...life }),
    async heartbeat() {
      if (owner === undefined || remote === undefined) return alive;
      const id = session as SessionId;
      const reply = await remote.heartbeat({ id, owner: owner as Owner });
      if (reply.kind === 'alive') return { ...alive, notices: reply.notices };
      over();
      return reply;
    },
    end: async () => ({ kind: 'ended', replayed: false }),
    ...NOT_ITS_OWN,
  };
}

/** The interval of those heartbeats. */
const REPLY_TIMEOUT_MS = 2_000;
const HOUR_MS = 3_600_000;

function elsewhere(what: string): Fault {
  return new Fault(
    'not-remote',
    `${what} cannot be reached by a push handler without a coordinator. Nothing was written. Pass one: pushHandler({ coordinator: { url, key } }).`,
  );
}
