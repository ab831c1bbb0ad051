// Handles each message of the worker protocol, for every transport. The fence in the store's
// predicate decides, as for embedded workers. This file checks that no worker reaches another
// project or acts for another worker. A session belongs to the key that opened it. Its claims, and
// everything that an owner's write submits, belong to its project.

import type { Static, TObject } from 'typebox';
import { type ExecutionRecord, storedValues } from '../../execution/execution.ts';
import type { ExecutionId, InteractionId } from '../../execution/names.ts';
import type { WriteTransport } from '../../features/audit/model.ts';
import { leaseHandlers } from '../../features/leases/routes.ts';
import { toFence } from '../../lease/fence.ts';
import type { Owner, SessionId } from '../../lease/names.ts';
import { historyPage, inboxPage } from '../../store/contract/body-pages.ts';
import type { Claimed, MessageChild } from '../../store/contract/execution-store.ts';
import { digestOf } from '../../support/digest.ts';
import { present } from '../../support/options.ts';
import { readWithin } from '../../support/page-size.ts';
import { weightOfParsing } from '../../support/turns.ts';
import { OLDEST_WORK_VERSION, WORK_VERSION } from '../messages/envelope.ts';
import { DOWNLOAD } from '../messages/operation.ts';
import { closed } from '../messages/words.ts';
import {
  rolesFor,
  WORK_KINDS,
  type WORK_MESSAGES,
  type WorkKind,
  workMessage,
} from '../messages/work-messages.ts';
import { executionFor, withinMs } from './handling.ts';
import { notFound } from './problems.ts';
import {
  type Caller,
  type Coordinator,
  ProblemReply,
  projectShare,
  type Reply,
  type Route,
  type RouteCall,
} from './route.ts';
import { claimWithin, endWaitingClaims } from './waiting-claims.ts';
import {
  charsOf,
  giveOut,
  requireOwnValues,
  requireReadableValue,
  valueFor,
} from './work-content.ts';
import {
  isOwnSession,
  metadataOf,
  noteIssued,
  noteRefused,
  type OwnWrite,
  perform,
  requireOwnSession,
  requireShortInputs,
  runElsewhere,
  toWrite,
} from './work-writes.ts';

export interface WorkCall<Body> {
  readonly body: Body;
  readonly bytes?: unknown;
  readonly caller: Caller;
  readonly transport: WriteTransport;
  /** Aborts when the caller is gone or the server stops. */
  readonly signal: AbortSignal;
}

export type WorkResult = object | Uint8Array | undefined;

export type WorkHandlers = {
  readonly [Kind in WorkKind]: (
    coordinator: Coordinator,
    call: WorkCall<Static<(typeof WORK_MESSAGES)[Kind]['body']>>,
  ) => Promise<WorkResult>;
};

export const workHandlers: WorkHandlers = {
  async greet({ store }, { body, caller }) {
    const version = Math.min(body.version ?? WORK_VERSION, WORK_VERSION);
    if (version < OLDEST_WORK_VERSION) {
      throw new ProblemReply(
        'version-unknown',
        `This worker uses version ${version} of the worker protocol. The coordinator supports versions ${OLDEST_WORK_VERSION} to ${WORK_VERSION}. Nothing was done. Update the worker.`,
      );
    }
    const { kind, durability, policy } = store;
    const offers = {
      ...{ stream: true, claimsWait: true, heartbeats: true },
      ...{ leases: true, leaseBlocks: true, childMessages: true, attributes: true },
    };
    return { project: caller.project, store: kind, durability, policy, version, ...offers };
  },

  async openSession(coordinator, { body, caller }) {
    const { id, owner, ttlMs, graceMs, parent } = body;
    if (parent !== undefined && !(await isOwnSession(coordinator, caller, parent))) {
      return { kind: 'refused', why: 'session-unknown', session: parent };
    }
    const metadata = metadataOf(caller, body);
    const session = { id: id as SessionId, owner: owner as Owner, ttlMs, graceMs, metadata };
    const opened = await coordinator.store.sessions.open({
      ...session,
      ...(parent === undefined ? {} : { parent: parent as SessionId }),
    });
    // An existing session may belong to another worker.
    if (opened.kind === 'opened' && opened.replayed)
      await requireOwnSession(coordinator, caller, id);
    return opened;
  },

  async heartbeat(coordinator, { body, caller }) {
    const { owner, ttlMs } = body;
    const id = await requireOwnSession(coordinator, caller, body.id);
    const request = { id, owner: owner as Owner, ...(ttlMs === undefined ? {} : { ttlMs }) };
    return coordinator.store.sessions.heartbeat(request);
  },

  async endSession(coordinator, { body, caller }) {
    const id = await requireOwnSession(coordinator, caller, body.id);
    const by = { kind: 'owner', owner: body.owner as Owner, exit: body.exit } as const;
    endWaitingClaims(coordinator, id);
    return coordinator.store.sessions.end({ id, by });
  },

  async waitForWakeup({ readiness, timers }, { body, caller, signal }) {
    const notified = await withinMs(timers, { ms: body.waitMs ?? 0, signal }, (until) => {
      return new Promise<true>((resolve, reject) => {
        const unlisten = readiness.listen(caller.project, () => {
          unlisten();
          resolve(true);
        });
        until.addEventListener('abort', () => {
          unlisten();
          reject(until.reason);
        });
      });
    });
    return { notified: notified === true };
  },

  async claimExecutions(coordinator, { body, caller, signal }) {
    const pipelines = runElsewhere(body.pipelines);
    const session = await requireOwnSession(coordinator, caller, body.session);
    const claim = {
      ...{ session, pipelines },
      shares: body.shares.map(({ lane, limit }) => ({ lane, limit: Math.min(limit, OF_LANE_MAX) })),
      project: caller.project,
      ...(body.release === undefined ? {} : { release: body.release }),
      ...(body.dice === undefined ? {} : { dice: body.dice }),
    };
    const { waitMs = 0 } = body;
    const result = await claimWithin(coordinator, claim, { waitMs, signal });
    const claims = result.kind === 'claimed' ? result.claims : [];
    for (const { fence } of claims) noteIssued(coordinator.store, fence);
    await giveOut(coordinator.store.executions, caller.project, textsIn(claims));
    return result;
  },

  async announceWorker(coordinator, { body, caller }) {
    const { release, inputs, ...about } = body;
    requireShortInputs(inputs);
    const pipelines = runElsewhere(body.pipelines);
    const session = await requireOwnSession(coordinator, caller, body.session);
    if (body.state === 'draining') endWaitingClaims(coordinator, session);
    const { project } = caller;
    const announcement = {
      ...{ ...about, session, pipelines, project },
      ...present({ release, inputs }),
    };
    const result = await coordinator.store.executions.announce(announcement);
    noteRefused(coordinator, announcement, result);
    return result;
  },

  async listClaims(coordinator, { body, caller }) {
    const session = await requireOwnSession(coordinator, caller, body.id);
    const { executions } = coordinator.store;
    const { items, more } = await carriedPage(coordinator, { session, after: body.after ?? 0 });
    await giveOut(executions, caller.project, textsIn(items));
    return { items, ...(more && { more }) };
  },

  async writeAsOwner(coordinator, { body, caller, transport }) {
    const all: OwnWrite[] = [];
    let chars = 0;
    for (const each of body.writes) {
      chars += charsOf(each);
      const weight = weightOfParsing(chars);
      if (weight > 0) {
        // Texts inside the writes are JSON too. Parse them in turns, as bodies.
        await coordinator.shares.begin(projectShare(caller.project), weight);
        chars = 0;
      }
      all.push(toWrite(each, caller));
    }
    for (const session of new Set(body.writes.map((each) => each.session))) {
      await requireOwnSession(coordinator, caller, session);
    }
    return perform(coordinator, { caller, transport }, all);
  },

  async messageChild(coordinator, { body, caller }) {
    const session = await requireOwnSession(coordinator, caller, body.session);
    const { project } = caller;
    const { executions } = coordinator.store;
    const { message } = body;
    const id = body.id as ExecutionId;
    if (message.kind === 'signal') {
      const digests = requireReadableValue(id, message.out);
      await requireOwnValues(executions, project, { id, digests });
    }
    return executions.messageChild({
      ...{ id, session, fence: toFence(body.fence), project, child: body.child as ExecutionId },
      message: message as MessageChild['message'],
    });
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
      throw new ProblemReply(
        'invalid-input',
        'The bytes do not have this SHA-256 digest. Nothing was stored.',
      );
    }
    await store.executions.putBlob({ project: caller.project, digest: body.digest, bytes });
    return undefined;
  },

  async getBlob({ store, download }, { body, caller: { project }, signal }) {
    const { digest } = body;
    const read = (): ReturnType<typeof valueFor> => valueFor(store.executions, { project, digest });
    const bytes = await download({ project, signal }, read);
    if (bytes === undefined) throw notFound(`value ${digest}`);
    return bytes;
  },

  ...leaseHandlers,
};

/**
 * The most claims per lane in one reply, because each carries its input. A worker with room claims
 * again.
 */
const OF_LANE_MAX = 250;

function textsIn(
  claims: readonly { readonly execution: ExecutionRecord }[],
): readonly (string | undefined)[] {
  return claims.flatMap(({ execution }) => storedValues(execution));
}

// Over HTTP, each message is a route.

const ANSWERED = 'The result from the store. A refusal is a result too, with `kind: "refused"`.';
const BYTES = {
  sent: { 204: { what: 'The bytes are stored.' } },
  answered: { 200: { what: 'The bytes.', text: DOWNLOAD } },
} as const;

export const workRoutes: readonly Route[] = WORK_KINDS.map((name) => {
  const { at, method, path, summary, description, body, reply, bytes, ...spec } = workMessage(name);
  const { isLong = false, takesValues = false, problems = {}, tag = 'Worker protocol' } = spec;
  const inPath = new Set([...path.matchAll(/:(\w+)/g)].map(([, param]) => param));
  const params = pickedOf(body, (each) => inPath.has(each));
  const rest = pickedOf(body, (each) => !inPath.has(each));
  return {
    ...{ name, at, method, path, summary, description, tag, isLong, takesValues },
    allows: rolesFor(name),
    ...(params && { params }),
    ...(rest && (method === 'GET' ? { query: rest } : { body: rest })),
    takesBytes: bytes === 'sent',
    responses: {
      ...(bytes === undefined
        ? { 200: { what: ANSWERED, ...(reply && { schema: reply }) } }
        : BYTES[bytes]),
      ...problems,
    },
    async handle(coordinator, call) {
      const result = await answerTo(name, coordinator, call);
      return { ...replyWith(result), isIdle: isIdle(name, result) };
    },
  };
});

function pickedOf(body: TObject, isPicked: (name: string) => boolean): TObject | undefined {
  const picked = Object.entries(body.properties).filter(([name]) => isPicked(name));
  if (picked.length === 0) return undefined;
  const { examples = [] } = body as { readonly examples?: readonly object[] };
  const parts = examples.map((each) =>
    Object.fromEntries(Object.entries(each).filter(([name]) => isPicked(name))),
  );
  return closed(Object.fromEntries(picked), parts.length === 0 ? {} : { examples: parts });
}

/** A worker without work sends these requests all the time. */
function isIdle(name: WorkKind, result: WorkResult = {}): boolean {
  switch (name) {
    case 'heartbeat':
    case 'announceWorker':
      return 'kind' in result && result.kind !== 'refused';
    case 'waitForWakeup':
      return 'notified' in result && result.notified === false;
    case 'waitForLeaseHint':
      return (result as { readonly keys?: readonly string[] }).keys?.length === 0;
    case 'claimExecutions':
      return !('claims' in result) || (result.claims as readonly unknown[]).length === 0;
    default:
      return false;
  }
}

function answerTo(
  name: WorkKind,
  coordinator: Coordinator,
  { params, query, body, caller, signal }: RouteCall<object, object, unknown>,
): Promise<WorkResult> {
  const handle = workHandlers[name] as (
    coordinator: Coordinator,
    call: object,
  ) => Promise<WorkResult>;
  const isBytes = body instanceof Uint8Array;
  const merged = { ...params, ...query, ...(isBytes ? {} : (body as object | undefined)) };
  const sent = { body: merged, caller, transport: 'http', signal } as const;
  return handle(coordinator, { ...sent, ...(isBytes ? { bytes: body } : {}) });
}

function replyWith(result: WorkResult): Reply {
  if (result === undefined) return { status: 204 };
  if (!(result instanceof Uint8Array)) return { status: 200, body: result };
  return { status: 200, raw: { type: 'application/octet-stream', bytes: result } };
}

// Pages of an execution's rows, for workers.

interface PageCall {
  readonly body: Static<(typeof WORK_MESSAGES)['readInbox']['body']>;
  readonly caller: Caller;
}

/** Rows of an execution, as stored. */
async function storedPage(
  what: 'inbox' | 'history',
  coordinator: Coordinator,
  { body, caller }: PageCall,
): Promise<object> {
  const { id } = await executionFor(coordinator, caller, body.id);
  const { after = 0, limit = 1_000 } = body;
  const { executions } = coordinator.store;
  const pageOf = what === 'inbox' ? inboxPage : historyPage;
  const { items, isCut } = await pageOf(executions, { id, after, limit });
  await giveOut(
    executions,
    caller.project,
    items.map((each) => each.body),
  );
  return { items, ...(isCut && { more: true }) };
}

const CLAIMS_MAX = 1_000;

/** The claims of a session, by fence, and whether there are more. */
async function carriedPage(
  { store: { executions } }: Coordinator,
  { session, after }: { readonly session: SessionId; readonly after: number },
): Promise<{ readonly items: readonly Claimed[]; readonly more: boolean }> {
  const { items, isCut } = await readWithin(
    { after, limit: CLAIMS_MAX },
    (part) => executions.carried({ session, ...part }),
    { placeOf: ({ fence }) => fence, charsOf: claimChars },
  );
  return { items, more: isCut || items.length === CLAIMS_MAX };
}

function claimChars({ execution }: Claimed): number {
  return storedValues(execution).reduce((sum, each) => sum + (each?.length ?? 0), 0);
}
