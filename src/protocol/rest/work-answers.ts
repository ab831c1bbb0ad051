// What a coordinator answers to each message of the worker protocol, whatever carried it. The fence in the
// store's predicate decides, as for workers inside the process; what is checked here is that nobody reaches
// another project, or acts for another worker: a session is of the key that opened it, claims are of its
// project, and so is whatever an owner's write submits.

import type { Static } from 'typebox';
import type { ExecutionRecord } from '../../execution/execution.ts';
import type { InteractionId } from '../../execution/names.ts';
import type { Owner, SessionId } from '../../lease/names.ts';
import { digestOf } from '../../support/digest.ts';
import { OLDEST_WORK_VERSION, WORK_VERSION } from '../messages/envelope.ts';
import type { WORK_MESSAGES, WorkKind } from '../messages/work-messages.ts';
import { executionFor, withinMs } from './handling.ts';
import { noteIssued } from './issued-fences.ts';
import { notFound } from './problems.ts';
import { type Caller, type Coordinator, ProblemReply } from './route.ts';
import { giveOut, valueFor } from './values-apart.ts';
import { claimFor, runElsewhere } from './work-claim.ts';
import { carriedPage, storedPage } from './work-pages.ts';
import { metadataOf, noteRefused, requireOwnSession } from './work-session.ts';
import { perform, toWrite } from './work-writes.ts';

export interface WorkCall<Body> {
  readonly body: Body;
  readonly bytes?: unknown;
  readonly caller: Caller;
  /** Aborts when the caller is gone or the server stops. */
  readonly signal: AbortSignal;
}

/** Nothing, an object, or bytes. */
export type WorkAnswer = object | Uint8Array | undefined;

export type WorkAnswers = {
  readonly [Kind in WorkKind]: (
    coordinator: Coordinator,
    call: WorkCall<Static<(typeof WORK_MESSAGES)[Kind]['body']>>,
  ) => Promise<WorkAnswer>;
};

export const workAnswers: WorkAnswers = {
  async greet({ store }, { body, caller }) {
    const version = Math.min(body.version ?? OLDEST_WORK_VERSION, WORK_VERSION);
    const { kind, durability, policy } = store;
    return { project: caller.project, store: kind, durability, policy, version };
  },

  async openSession(coordinator, { body, caller }) {
    const { id, owner, ttlMs, graceMs, pipelines } = body;
    const metadata = metadataOf(caller, pipelines);
    const session = { id: id as SessionId, owner: owner as Owner, ttlMs, graceMs, metadata };
    const opened = await coordinator.store.sessions.open(session);
    // What is there already may be somebody else's.
    if (opened.kind === 'opened' && opened.replayed)
      await requireOwnSession(coordinator, caller, id);
    return opened;
  },

  async heartbeat(coordinator, { body, caller }) {
    const id = await requireOwnSession(coordinator, caller, body.id);
    const { owner, ttlMs } = body;
    const request = { id, owner: owner as Owner, ...(ttlMs === undefined ? {} : { ttlMs }) };
    return coordinator.turns.heartbeats.take(caller.project, () =>
      coordinator.store.sessions.heartbeat(request),
    );
  },

  async endSession(coordinator, { body, caller }) {
    const id = await requireOwnSession(coordinator, caller, body.id);
    const by = { kind: 'owner', owner: body.owner as Owner, exit: body.exit } as const;
    return coordinator.store.sessions.end({ id, by });
  },

  async waitForBell({ bell, timers }, { body, caller, signal }) {
    const rang = await withinMs(timers, { ms: body.waitMs ?? 0, signal }, (until) => {
      return new Promise<true>((resolve, reject) => {
        const unlisten = bell.listen(caller.project, () => {
          unlisten();
          resolve(true);
        });
        until.addEventListener('abort', () => {
          unlisten();
          reject(until.reason);
        });
      });
    });
    return { rang: rang === true };
  },

  async claimExecutions(coordinator, { body, caller }) {
    const pipelines = runElsewhere(body.pipelines);
    const session = await requireOwnSession(coordinator, caller, body.session);
    const claim = {
      ...{ session, pipelines },
      shares: body.shares.map(({ lane, limit }) => ({ lane, limit: Math.min(limit, CLAIMS_MAX) })),
      project: caller.project,
      ...(body.release === undefined ? {} : { release: body.release }),
      ...(body.dice === undefined ? {} : { dice: body.dice }),
    };
    const answer = await coordinator.turns.claims.take(caller.project, () =>
      claimFor(coordinator, claim),
    );
    const claims = answer.kind === 'claimed' ? answer.claims : [];
    for (const { fence } of claims) noteIssued(coordinator.store, fence);
    await giveOut(coordinator.store.executions, caller.project, textsIn(claims));
    return answer;
  },

  async announceWorker(coordinator, { body, caller }) {
    const { release, ...about } = body;
    const pipelines = runElsewhere(body.pipelines);
    const session = await requireOwnSession(coordinator, caller, body.session);
    const { project } = caller;
    const said = { ...about, session, pipelines, project, ...(release && { release }) };
    const answer = await coordinator.store.executions.announce(said);
    noteRefused(coordinator, said, answer);
    return answer;
  },

  async listClaims(coordinator, { body, caller }) {
    const session = await requireOwnSession(coordinator, caller, body.id);
    const { executions } = coordinator.store;
    const { items, more } = await carriedPage(coordinator, { session, after: body.after ?? 0 });
    await giveOut(executions, caller.project, textsIn(items));
    return { items, ...(more && { more }) };
  },

  async writeAsOwner(coordinator, { body, caller }) {
    const all = body.writes.map((each) => toWrite(each, caller));
    for (const session of new Set(body.writes.map((each) => each.session))) {
      await requireOwnSession(coordinator, caller, session);
    }
    return perform(coordinator, caller, all);
  },

  readInbox: (coordinator, call) => storedPage('inbox', coordinator, call),
  readStoredHistory: (coordinator, call) => storedPage('history', coordinator, call),

  async readStoredExecution(coordinator, { body, caller }) {
    const execution = await executionFor(coordinator, caller, body.id);
    await giveOut(coordinator.store.executions, caller.project, textsIn([{ execution }]));
    return execution;
  },

  async readStoredAwait({ store }, { body, caller }) {
    const query = { project: caller.project, id: body.id as InteractionId };
    const found = await store.executions.interaction(query);
    if (found === undefined) throw notFound(`await with interaction ${body.id}`);
    const { request, answer } = found.interaction;
    const { defaultAnswer } = found.unit ?? {};
    await giveOut(store.executions, caller.project, [request, answer?.value, defaultAnswer]);
    return found;
  },

  async expireAwaits(coordinator, { body, caller }) {
    const { id: execution } = await executionFor(coordinator, caller, body.id);
    return coordinator.store.executions.expireAwaits({ execution, limit: 1_000 });
  },

  async putBlob({ store }, { body, bytes, caller }) {
    if (!(bytes instanceof Uint8Array) || digestOf(bytes) !== body.digest) {
      throw new ProblemReply(400, 'invalid-input', 'The bytes do not have this SHA-256 digest.');
    }
    await store.executions.putBlob({ project: caller.project, digest: body.digest, bytes });
    return undefined;
  },

  async getBlob({ store }, { body, caller }) {
    const { digest } = body;
    const bytes = await valueFor(store.executions, { project: caller.project, digest });
    if (bytes === undefined) throw notFound(`value ${digest}`);
    return bytes;
  },
};

/** Of each lane in one answer, whatever was asked for: each has its input. A worker with room claims again. */
const CLAIMS_MAX = 250;

function textsIn(
  claims: readonly { readonly execution: ExecutionRecord }[],
): readonly (string | undefined)[] {
  return claims.flatMap(({ execution: { input, progress } }) => [input, progress]);
}
