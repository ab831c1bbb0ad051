// The coordinator's replies to clients of leases, for every transport. The store's predicate
// decides, as for embedded holders. This file keeps each project to its own keys and sessions.

import type { Static } from 'typebox';
import type { ProjectName } from '../../execution/names.ts';
import type { LeaseEvent } from '../../lease/event.ts';
import type { Fence } from '../../lease/fence.ts';
import type { LeaseRecord } from '../../lease/lease.ts';
import {
  type AttemptId,
  type LeaseKey,
  parseEffectId,
  parseOwner,
  parseSessionId,
  parseText,
  type RequestId,
  type SessionId,
} from '../../lease/names.ts';
import type { Revoke, SessionInspection, Tenure, Verify } from '../../lease/port.ts';
import { PROJECT_METADATA } from '../../lease/session.ts';
import { withinMs } from '../../protocol/rest/handling.ts';
import { refusedByKernel } from '../../protocol/rest/problems.ts';
import type { Caller, Coordinator } from '../../protocol/rest/route.ts';
import { scannedSessions } from '../../protocol/rest/sessions.ts';
import type { WorkCall, WorkResult } from '../../protocol/rest/work-handlers.ts';
import {
  isIssued,
  isOwnSession,
  noteIssued,
  projectOfSession,
  requireOwnSession,
  withoutReserved,
} from '../../protocol/rest/work-writes.ts';
import { systemRandom } from '../../support/random.ts';
import { inLanes } from '../../support/turns.ts';
import { nameWithKey } from '../access/model.ts';
import { type LEASE_MESSAGES, LEASES_PAGE_MAX, type LeaseKind } from './messages.ts';
import { keyPrefixOf, ownKeyOf, storedKeyOf } from './model.ts';

type LeaseHandlers = {
  readonly [Kind in LeaseKind]: (
    coordinator: Coordinator,
    call: WorkCall<Static<(typeof LEASE_MESSAGES)[Kind]['body']>>,
  ) => Promise<WorkResult>;
};

const handlers: LeaseHandlers = {
  async acquireLease(coordinator, { body, caller }) {
    const { key, session, attempt, ...options } = body;
    if (!(await isOwnSession(coordinator, caller, session))) {
      return { kind: 'refused', why: 'session-unknown', session };
    }
    const { store } = coordinator;
    const result = await store.leases.acquire({
      ...options,
      key: storedKeyOf(caller.project, key),
      session: session as SessionId,
      attempt: attempt as AttemptId,
    });
    if (result.kind !== 'granted') return withOwnKey(caller.project, result);
    noteIssued(store, result.fence);
    return withOwnKey(caller.project, { ...result, ...writtenCheckpoints(result) });
  },

  async withdrawAttempt({ store }, { body, caller }) {
    const key = storedKeyOf(caller.project, body.key);
    return store.leases.withdraw({ key, attempt: body.attempt as AttemptId });
  },

  async saveCheckpoint(coordinator, { body, caller }) {
    const { seq, digest, type } = body;
    const bytes = Buffer.from(body.bytes, 'base64');
    const content = { seq, bytes, digest, ...(type === undefined ? {} : { type }) };
    return asHolder({ coordinator, caller }, body, (tenure) =>
      coordinator.store.leases.checkpoint({ ...tenure, ...content }),
    );
  },

  async beginIntent(coordinator, { body, caller }) {
    const { note } = body;
    const intent = { effect: parseEffectId(body.effect), ...(note === undefined ? {} : { note }) };
    return asHolder({ coordinator, caller }, body, (tenure) =>
      coordinator.store.leases.beginIntent({ ...tenure, ...intent }),
    );
  },

  async settleIntent(coordinator, { body, caller }) {
    const effect = parseEffectId(body.effect);
    return asHolder({ coordinator, caller }, body, (tenure) =>
      coordinator.store.leases.settleIntent({ ...tenure, effect }),
    );
  },

  async releaseLease(coordinator, { body, caller }) {
    const { exit, cause } = body;
    return asHolder({ coordinator, caller }, body, (tenure) =>
      coordinator.store.leases.release({ ...tenure, exit, ...(cause && { cause }) }),
    );
  },

  async requestDrain(coordinator, { body, caller }) {
    const { deadlineMs } = body;
    const successor = body.successor === undefined ? {} : { successor: parseOwner(body.successor) };
    return onTerm({ coordinator, caller }, operationIn(caller, body), (operation) =>
      coordinator.store.leases.requestDrain({ ...operation, deadlineMs, ...successor }),
    );
  },

  async revokeTerm(coordinator, { body, caller }) {
    return onTerm({ coordinator, caller }, operationIn(caller, body), (operation) =>
      coordinator.store.leases.revoke(operation),
    );
  },

  async verifyFence(coordinator, { body, caller }) {
    return onTerm({ coordinator, caller }, termIn(caller, body), (term) =>
      coordinator.store.leases.verify(term),
    );
  },

  async inspectLease({ store }, { body, caller }) {
    const { project } = caller;
    const { record, ...found } = await store.leases.inspect(storedKeyOf(project, body.key));
    if (record === undefined) return withOwnKey(project, found);
    const written = withOwnKey(project, { ...record, ...writtenCheckpoints(record) });
    return { ...withOwnKey(project, found), record: written };
  },

  async listProjectLeases({ store }, { body, caller }) {
    const { project } = caller;
    const { prefix = '', after, limit = LEASES_PAGE_MAX } = body;
    const items = await store.leases.list({
      prefix: `${keyPrefixOf(project)}${prefix}`,
      limit,
      ...(after === undefined ? {} : { after: storedKeyOf(project, after) }),
    });
    const isFull = items.length === limit;
    return { items: items.map((each) => withOwnKey(project, each)), ...(isFull && { more: true }) };
  },

  async readLeaseEvents(coordinator, { body, caller }) {
    const { after, limit = LEASES_PAGE_MAX } = body;
    const page = await coordinator.store.leases.events({ after, limit });
    if (page.kind === 'truncated') return page;
    const { events, next } = page;
    const own = await ownSessions(coordinator, caller, events);
    const items = events.flatMap((each) => eventFor(caller, own, each) ?? []);
    return { kind: 'events', items, next, ...(events.length === limit && { more: true }) };
  },

  async waitForLeaseHint({ leaseHints, timers }, { body, caller, signal }) {
    const { waitMs = 0, after } = body;
    const hints = leaseHints.of(caller.project);
    const from = after ?? hints.count;
    await withinMs(timers, { ms: waitMs, signal }, (until) => hints.after(from, until));
    return hints.read(from);
  },

  async listCarriedLeases(coordinator, { body, caller }) {
    const session = await requireOwnSession(coordinator, caller, body.id);
    const { after, limit = LEASES_PAGE_MAX } = body;
    const page = {
      limit,
      ...(after === undefined ? {} : { after: storedKeyOf(caller.project, after) }),
    };
    // A holder waits for this before it continues, so it does not wait for searches.
    const carried = await coordinator.paid(caller.project, () =>
      coordinator.store.sessions.leases(session, page),
    );
    const items = carried.map((each) => withOwnKey(caller.project, each));
    return { items, ...(items.length === limit && { more: true }) };
  },

  async inspectSession({ store }, { body, caller }) {
    const session = parseSessionId(body.id);
    const found = await store.sessions.inspect(session);
    if (found === undefined || !isOfProject(caller, found)) {
      throw refusedByKernel({ why: 'session-unknown', session });
    }
    return shownSession(found);
  },

  async listProjectSessions(coordinator, { body, caller }) {
    const { after, limit = LEASES_PAGE_MAX, all } = body;
    const page = { cursor: after, limit, all };
    const { items, cursor } = await scannedSessions({ coordinator, caller }, page, (each) =>
      isOfProject(caller, each),
    );
    return { items: items.map(shownSession), ...(cursor === undefined ? {} : { next: cursor }) };
  },
};

/** Their cost depends on the project's rows. */
const SEARCHES: ReadonlySet<string> = new Set<LeaseKind>(['listProjectLeases', 'readLeaseEvents']);
/** The first waits for a hint, and the second searches page by page. */
const WITHOUT_TURN: ReadonlySet<string> = new Set<LeaseKind>([
  'waitForLeaseHint',
  'listProjectSessions',
]);

/**
 * A project's writes of one key wait for each other in the store, each on a connection of its own. So
 * only some are in progress at once; those that wait for a hint take no connection.
 */
function inTurns(): LeaseHandlers {
  const all = Object.entries(handlers).map(([kind, handle]) => {
    const handleAny = handle as (coordinator: Coordinator, call: object) => Promise<WorkResult>;
    const inTurn: typeof handleAny = (coordinator, call) => {
      const { project } = (call as Pick<WorkCall<object>, 'caller'>).caller;
      const perform = (): Promise<WorkResult> => handleAny(coordinator, call);
      return SEARCHES.has(kind)
        ? coordinator.search(project, perform)
        : coordinator.leaseTurns.take(project, perform);
    };
    return [kind, WITHOUT_TURN.has(kind) ? handle : inTurn];
  });
  return Object.fromEntries(all) as LeaseHandlers;
}

export const leaseHandlers: LeaseHandlers = inTurns();

/** The same, with its key, and the key of its refusal, as the project knows it. */
function withOwnKey<Result extends object>(project: ProjectName, result: Result): Result {
  const { key, refusal } = result as { readonly key?: LeaseKey; readonly refusal?: object };
  return {
    ...result,
    ...(key === undefined ? {} : { key: ownKeyOf(project, key) }),
    ...(refusal === undefined ? {} : { refusal: withOwnKey(project, refusal) }),
  };
}

/** In JSON, bytes are base64. */
function writtenCheckpoints(
  record: Pick<LeaseRecord, 'checkpoint' | 'checkpointBefore'>,
): Readonly<Record<string, object>> {
  const kept = (['checkpoint', 'checkpointBefore'] as const).flatMap((name) => {
    const { bytes, ...rest } = record[name] ?? {};
    if (bytes === undefined) return [];
    return [[name, { ...rest, bytes: Buffer.from(bytes).toString('base64') }]];
  });
  return Object.fromEntries(kept);
}

// Writes. A store that gets a fence it never issued halts all grants, because it may be an older
// copy of itself. A key of one project must not cause that for all (M-20).

interface GivenTerm {
  readonly key: string;
  readonly fence: number;
}

function termIn({ project }: Caller, { key, fence }: GivenTerm): Verify {
  return { key: storedKeyOf(project, key), fence: fence as Fence };
}

type GivenOperation = GivenTerm & Record<'request' | 'actor' | 'reason', string>;

/** Names the person and the access key of the request (J-8). */
function operationIn(caller: Caller, { request, ...body }: GivenOperation): Revoke {
  const actor = parseText('actor', body.actor);
  return {
    ...termIn(caller, body),
    request: request as RequestId,
    actor: caller.key === undefined ? actor : nameWithKey(actor, caller.key),
    reason: parseText('reason', body.reason),
  };
}

interface Calling {
  readonly coordinator: Coordinator;
  readonly caller: Caller;
}

async function onTerm<Term extends Verify>(
  { coordinator: { store }, caller: { project, isOfAll } }: Calling,
  term: Term,
  write: (term: Term) => Promise<object>,
): Promise<object> {
  const { key, fence } = term;
  let why = 'fence-ahead';
  const newest = async (): Promise<Fence | undefined> => {
    const { record } = await store.leases.inspect(key);
    if (record === undefined) why = 'key-unknown';
    return record?.fence;
  };
  const result =
    isOfAll || (await isIssued(store, fence, newest))
      ? await write(term)
      : { kind: 'refused', why, key, ...(why === 'fence-ahead' && { fence }) };
  return withOwnKey(project, result);
}

/** Never opened: a session that its caller did not open counts as one that does not exist. */
const NO_SESSION = systemRandom.uuid() as SessionId;

async function asHolder(
  calling: Calling,
  body: GivenTerm & { readonly session: string },
  write: (tenure: Tenure) => Promise<object>,
): Promise<object> {
  const { coordinator, caller } = calling;
  const isOwn = await isOwnSession(coordinator, caller, body.session);
  const session = isOwn ? (body.session as SessionId) : NO_SESSION;
  return onTerm(calling, { ...termIn(caller, body), session }, write);
}

// Reads.

/** The most lookups of one page in progress, because each takes a connection of the store. */
const LOOKUPS_MAX = 2;

/** The sessions of these events that belong to the project. Each is looked up once, in a few lanes. */
async function ownSessions(
  coordinator: Coordinator,
  caller: Caller,
  events: readonly LeaseEvent[],
): Promise<ReadonlySet<SessionId>> {
  const named = new Set<SessionId>();
  for (const event of events) if (!('key' in event) && 'session' in event) named.add(event.session);
  const own = new Set<SessionId>();
  await inLanes([...named], LOOKUPS_MAX, async (session) => {
    const project = await projectOfSession(coordinator, caller, session);
    if (project === caller.project) own.add(session);
  });
  return own;
}

/** Undefined if the event is not of the project. Alarms and epochs belong to no project. */
function eventFor(
  { project, isOfAll }: Caller,
  own: ReadonlySet<SessionId>,
  event: LeaseEvent,
): LeaseEvent | undefined {
  if ('key' in event) {
    const key = ownKeyOf(project, event.key);
    return key === undefined ? undefined : { ...event, key };
  }
  if (!('session' in event)) return isOfAll ? event : undefined;
  return own.has(event.session) ? event : undefined;
}

function isOfProject({ project }: Caller, { session }: SessionInspection): boolean {
  return session.metadata[PROJECT_METADATA] === project;
}

function shownSession(found: SessionInspection): SessionInspection {
  const { session } = found;
  return { ...found, session: { ...session, metadata: withoutReserved(session.metadata) } };
}
