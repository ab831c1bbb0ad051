// A registry of live members. A member is a session with a service in its metadata, and its
// heartbeat is the session's. A late member is suspect before it is gone. If most members go silent
// at once, the store's breaker keeps them suspect for a bounded time.

import { openSession, type Session } from '../lease/live-session.ts';
import { type Owner, parseText, type SessionId } from '../lease/names.ts';
import type { LeaseService, SessionInspection } from '../lease/port.ts';
import { SERVICE_METADATA, type SessionMetadata } from '../lease/session.ts';
import {
  requireStore,
  SESSION_OPTION_NAMES,
  type SessionOptions,
} from '../lease/session-options.ts';
import { isOutage } from '../lease/store-call.ts';
import { integerOption, optionalBooleans, rejectUnknownOptions } from '../support/options.ts';
import { jittered, type Random, systemRandom } from '../support/random.ts';
import { systemTimers, type Timers } from '../support/timer.ts';

/** The most sessions that one poll of a watcher ends. */
const SWEEP_LIMIT = 100;
const POLL_MS_DEFAULT = 1_000;
const REGISTER_NAMES = SESSION_OPTION_NAMES.filter((name) => name !== 'store');

/** Options of `registry`. */
export interface RegistryOptions {
  /** An open store. */
  readonly store: LeaseService;
  /** The name of the service that the members belong to. */
  readonly service: string;
  /** The timers. Default: those of Node. Replace them in tests. */
  readonly timers?: Timers;
  /** The random source. Default: that of Node. Replace it in tests. */
  readonly random?: Random;
}

/**
 * The state of a member.
 *
 * - `live`: its session is alive.
 * - `suspect`: it missed heartbeats and may come back.
 * - `gone`: its session has ended.
 */
export type MemberState = 'live' | 'suspect' | 'gone';

/** A member of a service. */
export interface Member {
  /** Its session. */
  readonly session: SessionId;
  /** The name that operators see. */
  readonly owner: Owner;
  /** The state. */
  readonly state: MemberState;
  /** The entries that it registered with. */
  readonly metadata: SessionMetadata;
  /** Milliseconds until it is gone without another heartbeat. */
  readonly remainingMs: number;
}

/** A change of a member. */
export interface MemberChange {
  /** `joined`, `suspect`, `recovered` or `gone`. */
  readonly kind: 'joined' | 'suspect' | 'recovered' | 'gone';
  /** The member after the change. */
  readonly member: Member;
}

/**
 * The members of a service.
 *
 * @example
 * const members = registry({ store, service: 'billing' });
 * await using self = await members.register({ owner: 'billing@host-3', metadata: { port: '8080' } });
 * for (const { owner, state } of await members.list()) console.log(owner, state);
 */
export interface Registry {
  /** Makes this process a member until the session is closed. Throws as `openSession` does. */
  register(options: Omit<SessionOptions, 'store'>): Promise<Session>;
  /**
   * Returns members by owner. If `gone` is true (default false), also those that have ended.
   *
   * It only reads: a dead member stays `suspect` until a watcher, a sweeper or an acquire ends it.
   */
  list(options?: { readonly gone?: boolean }): Promise<readonly Member[]>;
  /**
   * Yields changes: first `joined` for each member, then every change.
   *
   * It ends expired members. It polls every `pollMs` milliseconds (default 1,000) and stops when
   * `signal` aborts. It waits out outages, except for the first poll.
   */
  watch(options?: {
    readonly signal?: AbortSignal;
    readonly pollMs?: number;
  }): AsyncGenerator<MemberChange, void, void>;
}

/**
 * Opens the registry of a service: which processes of it are alive.
 *
 * Throws `InvalidInput` for invalid options.
 *
 * @example
 * const members = registry({ store, service: 'billing' });
 * for await (const { kind, member } of members.watch()) console.log(kind, member.owner);
 */
export function registry(options: RegistryOptions): Registry {
  rejectUnknownOptions('registry', options, ['store', 'service', 'timers', 'random']);
  const { store } = options;
  requireStore('registry', store);
  const service = parseText('service', options.service);
  const list: Registry['list'] = async (listing = {}) => {
    rejectUnknownOptions('list', listing, ['gone']);
    optionalBooleans('list', listing);
    const { gone = false } = listing;
    const sessions = await sessionsWith(store, {
      name: SERVICE_METADATA,
      value: service,
      all: gone,
    });
    const members = sessions.map(toMember).filter(({ state }) => gone || state !== 'gone');
    return members.sort((a, b) => (a.owner < b.owner ? -1 : 1));
  };
  return {
    register: (session) => {
      rejectUnknownOptions('register', session, REGISTER_NAMES);
      return openSession({
        ...session,
        store,
        metadata: { ...session.metadata, [SERVICE_METADATA]: service },
      });
    },
    list,
    watch: (watching = {}) => {
      rejectUnknownOptions('watch', watching, ['signal', 'pollMs']);
      const { signal, pollMs = POLL_MS_DEFAULT } = watching;
      integerOption('pollMs', pollMs, { min: 10, max: 3_600_000 });
      return watch(list, options, { signal, pollMs });
    },
  };
}

async function* watch(
  list: Registry['list'],
  options: RegistryOptions,
  watching: { readonly signal: AbortSignal | undefined; readonly pollMs: number },
): AsyncGenerator<MemberChange, void, void> {
  const { timers = systemTimers, random = systemRandom } = options;
  const { pollMs } = watching;
  let known: ReadonlyMap<SessionId, Member> | undefined;
  while (watching.signal?.aborted !== true) {
    const members = await readMembers(list, options.store).catch((fault: unknown) => {
      // The next poll shows if the sweep was done.
      if (known === undefined || !isOutage(fault)) throw fault;
      return [...known.values()];
    });
    const seen = new Map(members.map((member) => [member.session, member]));
    yield* changesBetween(known ?? new Map(), seen);
    known = seen;
    await timers.pause(jittered(random, pollMs, 0.1), watching.signal);
  }
}

/** Ends members whose time is up, so that the registry needs no sweeper (E-4). A coordinator sweeps. */
async function readMembers(
  list: Registry['list'],
  store: LeaseService,
): Promise<readonly Member[]> {
  const members = await list();
  if (members.every(({ remainingMs }) => remainingMs > 0)) return members;
  await store.sessions.sweep?.({ limit: SWEEP_LIMIT });
  return list();
}

/** Yields the changes between two lists. A member that is no longer listed has ended. */
function* changesBetween(
  before: ReadonlyMap<SessionId, Member>,
  after: ReadonlyMap<SessionId, Member>,
): Generator<MemberChange, void, void> {
  for (const [id, member] of after) {
    const was = before.get(id)?.state;
    if (was === undefined) yield { kind: 'joined', member };
    if (was !== 'suspect' && member.state === 'suspect') yield { kind: 'suspect', member };
    if (was === 'suspect' && member.state === 'live') yield { kind: 'recovered', member };
  }
  for (const [id, member] of before) {
    if (!after.has(id))
      yield { kind: 'gone', member: { ...member, state: 'gone', remainingMs: 0 } };
  }
}

function toMember(inspection: SessionInspection): Member {
  const { session, state, remainingMs } = inspection;
  const { [SERVICE_METADATA]: _, ...metadata } = session.metadata;
  return {
    session: session.id,
    owner: session.owner,
    state: memberState(inspection),
    metadata,
    remainingMs: state === 'ended' ? 0 : remainingMs,
  };
}

function memberState({ session, state }: SessionInspection): MemberState {
  if (state === 'ended') return 'gone';
  return state === 'alive' && !session.extended ? 'live' : 'suspect';
}

// Sessions as members of a pool or a service. Their metadata names it, under a name that users' own
// metadata cannot have.

const PAGE = 500;

/** Lists all sessions whose metadata has this name and value, ended ones too with `all`. */
export async function sessionsWith(
  store: LeaseService,
  wanted: { readonly name: string; readonly value: string; readonly all?: boolean },
): Promise<readonly SessionInspection[]> {
  const found: SessionInspection[] = [];
  let after: SessionInspection['session']['id'] | undefined;
  for (;;) {
    const page = await store.sessions.list({
      limit: PAGE,
      ...(after === undefined ? {} : { after }),
      ...(wanted.all === true ? { all: true } : {}),
    });
    found.push(...page.filter((each) => each.session.metadata[wanted.name] === wanted.value));
    after = page.at(-1)?.session.id;
    if (page.length < PAGE) return found;
  }
}
