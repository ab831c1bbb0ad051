// A coordinator as a store of leases. Sessions and recipes use it as any other store. Authority
// counts from when a request left, so the network only shortens it.

import type { LeaseEvent } from '../lease/event.ts';
import type { Checkpoint } from '../lease/lease.ts';
import type { LeaseKey, SessionId } from '../lease/names.ts';
import type {
  AcquireResult,
  CarriedLease,
  EventPage,
  LeaseInspection,
  LeaseService,
  LeaseStore,
  ListedLease,
  SessionHost,
  SessionInspection,
} from '../lease/port.ts';
import type { SessionRefusal } from '../lease/refusal.ts';
import { REPLY_TIMEOUT_MS, type Transport } from '../protocol/messages/envelope.ts';
import { SESSION_MS_MAX, type WorkKind, workMessage } from '../protocol/messages/work-messages.ts';
import { Fault } from '../support/fault.ts';
import { Listeners } from '../support/listeners.ts';
import type { Timers } from '../support/timer.ts';
import type { Hello } from './remote-store.ts';

const PULSE_PART = 0.3;
const PULSE_MS_MAX = 15_000;

/** A heartbeat times out after a part of the ttl, which leaves time to try another coordinator. */
export function pulseMsOf(ttlMs: number): number {
  return Math.min(PULSE_MS_MAX, ttlMs * PULSE_PART);
}

/** Sooner, a slow reply would look like a coordinator that is gone. Sessions have limits of their own. */
const PULSE_MS_MIN = 1_000;
/** The most items of one request. */
const PAGE_MAX = 500;

export interface Hinted {
  readonly keys: readonly LeaseKey[];
  /** The position to wait after. */
  readonly next: number;
}

interface RemoteLeaseParts extends Pick<LeaseService, 'address'> {
  readonly transport: Transport;
  readonly hello: Hello;
  readonly hinted?: Hinted;
  readonly timers: Timers;
}

export function remoteLeases({
  transport,
  hello,
  hinted,
  timers,
  address,
}: RemoteLeaseParts): LeaseService & Pick<SessionHost, 'doubles'> {
  const hints = new RemoteHints(transport, timers, hinted?.next);
  const policy = { ...hello.policy, ttlMsMax: Math.min(hello.policy.ttlMsMax, SESSION_MS_MAX) };
  return {
    kind: 'coordinator',
    policy,
    durability: hello.durability,
    ...(address && { address }),
    // Every client reaches the keys of its project through a coordinator, which sends the hints.
    hintsReach: 'all-processes',
    doubles: transport.doubles === true,
    sessions: sessionsOf(transport, policy.ttlMsMax),
    leases: leasesOf(transport),
    onHint: (listener) => hints.listen(listener),
    async close() {
      hints.close();
      await transport.close();
    },
  };
}

/** The leases that a worker's session may hold. */
export interface WorkerLeases extends Pick<LeaseService, 'leases' | 'onHint'> {
  carried(id: SessionId): Promise<readonly CarriedLease[]>;
  close(): void;
}

export function workerLeases(transport: Transport, timers: Timers): WorkerLeases {
  const leases = leasesOf(transport);
  const hints = new RemoteHints(transport, timers);
  let hasAcquired = false;
  return {
    leases: {
      ...leases,
      acquire(request) {
        hasAcquired = true;
        return leases.acquire(request);
      },
    },
    // Most workers never acquire a lease, so most notices need no request.
    carried: async (id) => (hasAcquired ? carriedLeases(transport, id) : []),
    onHint: (listener) => hints.listen(listener),
    close: () => hints.close(),
  };
}

async function carriedLeases(
  transport: Transport,
  id: SessionId,
): Promise<readonly CarriedLease[]> {
  interface Page {
    readonly items: readonly CarriedLease[];
    readonly more?: boolean;
  }
  const all: CarriedLease[] = [];
  for (;;) {
    const after = all.at(-1)?.key;
    const body = { id, ...(after === undefined ? {} : { after }) };
    const page = await found<Page>(transport.request({ kind: 'listCarriedLeases', body }));
    all.push(...(page?.items ?? []));
    if (page?.more !== true) return all;
  }
}

function sessionsOf(transport: Transport, ttlMsMax: number): LeaseService['sessions'] {
  const pulseMs = new Map<SessionId, number>();
  return {
    open({ ttlMs, graceMs, ...request }) {
      const clamped = Math.min(ttlMs, ttlMsMax);
      pulseMs.set(request.id, Math.max(PULSE_MS_MIN, pulseMsOf(clamped)));
      const body = { ...request, ttlMs: clamped, graceMs: Math.min(graceMs, ttlMsMax) };
      const fields = fieldsFor('openSession', body);
      return orUnknown(request.id, transport.request({ kind: 'openSession', body: fields }));
    },
    heartbeat({ ttlMs, ...request }) {
      const body = { ...request, ...(ttlMs && { ttlMs: Math.min(ttlMs, ttlMsMax) }) };
      const fields = fieldsFor('heartbeat', body);
      const timeoutMs = pulseMs.get(request.id) ?? REPLY_TIMEOUT_MS;
      const message = { kind: 'heartbeat', body: fields, timeoutMs } as const;
      return orUnknown(request.id, transport.request(message));
    },
    async end({ id, by }) {
      if (by.kind === 'operator') {
        throw new Fault(
          'not-remote',
          'Through a coordinator, a process can end only its own sessions. Nothing was ended. An operator can end others: holdfast sessions end.',
        );
      }
      pulseMs.delete(id);
      const body = { id, owner: by.owner, exit: by.exit };
      return orUnknown(id, transport.request({ kind: 'endSession', body }));
    },
    inspect: (id) =>
      found<SessionInspection>(transport.request({ kind: 'inspectSession', body: { id } })),
    async list({ limit, ...query }) {
      const all: SessionInspection[] = [];
      for (let { after } = query; ; ) {
        const body = { ...query, ...(after && { after }), limit: pageLimit(limit - all.length) };
        const page = await transport.request<{
          readonly items: readonly SessionInspection[];
          readonly next?: SessionId;
        }>({ kind: 'listProjectSessions', body });
        all.push(...page.items);
        if (page.next === undefined || all.length >= limit) return all;
        after = page.next;
      }
    },
    leases: (id) => carriedLeases(transport, id),
  };
}

function leasesOf(transport: Transport): LeaseStore {
  const send = <Result>(kind: WorkKind, request: object): Promise<Result> =>
    transport.request<Result>({ kind, body: fieldsFor(kind, request) });
  return {
    async acquire(request) {
      const result = await send<AcquireResult>('acquireLease', request);
      return result.kind === 'granted' ? withBytes(result) : result;
    },
    withdraw: (request) => send('withdrawAttempt', request),
    checkpoint: ({ bytes, ...request }) =>
      send('saveCheckpoint', { ...request, bytes: Buffer.from(bytes).toString('base64') }),
    beginIntent: (request) => send('beginIntent', request),
    settleIntent: (request) => send('settleIntent', request),
    release: (request) => send('releaseLease', request),
    requestDrain: (request) => send('requestDrain', request),
    revoke: (request) => send('revokeTerm', request),
    verify: (request) => send('verifyFence', request),
    async inspect(key) {
      const { record, ...inspected } = await send<LeaseInspection>('inspectLease', { key });
      return { ...inspected, ...(record && { record: withBytes(record) }) };
    },
    events: ({ after, limit }) => eventsAfter(transport, after, limit),
    async list({ limit, ...query }) {
      const all: ListedLease[] = [];
      for (let { after } = query; ; after = all.at(-1)?.key) {
        const body = { ...query, ...(after && { after }), limit: pageLimit(limit - all.length) };
        const page = await send<{
          readonly items: readonly ListedLease[];
          readonly more?: boolean;
        }>('listProjectLeases', body);
        all.push(...page.items);
        if (page.more !== true || all.length >= limit) return all;
      }
    },
  };
}

/** A request may have more fields than its message: a grant, for example, names a term too. */
function fieldsFor(kind: WorkKind, request: object): object {
  const { properties } = workMessage(kind).body;
  return Object.fromEntries(
    Object.entries(request).filter(([name]) => Object.hasOwn(properties, name)),
  );
}

function pageLimit(left: number): number {
  return Math.min(left, PAGE_MAX);
}

interface Checkpoints {
  readonly checkpoint?: Checkpoint;
  readonly checkpointBefore?: Checkpoint;
}

/** In JSON, bytes are base64. */
function withBytes<Holding extends Checkpoints>(written: Holding): Holding {
  const decoded = (['checkpoint', 'checkpointBefore'] as const).flatMap((name) => {
    const { bytes, ...rest } = written[name] ?? {};
    if (bytes === undefined) return [];
    return [[name, { ...rest, bytes: new Uint8Array(Buffer.from(String(bytes), 'base64')) }]];
  });
  return { ...written, ...Object.fromEntries(decoded) };
}

interface WrittenPage {
  readonly kind: 'events';
  readonly items: readonly LeaseEvent[];
  readonly next: number;
  readonly more?: boolean;
}

/** A page of the coordinator may be short, because it leaves out events of other projects. */
async function eventsAfter(transport: Transport, after: number, limit: number): Promise<EventPage> {
  const events: LeaseEvent[] = [];
  for (let next = after; ; ) {
    const body = { after: next, limit: pageLimit(limit - events.length) };
    const page = await transport.request<WrittenPage | Extract<EventPage, { kind: 'truncated' }>>({
      kind: 'readLeaseEvents',
      body,
    });
    if (page.kind === 'truncated')
      return events.length === 0 ? page : { kind: 'events', events, next };
    events.push(...page.items);
    next = page.next;
    if (page.more !== true || events.length >= limit) return { kind: 'events', events, next };
  }
}

/** A session that this key did not open does not exist for it. */
async function orUnknown<Result>(
  session: SessionId,
  reply: Promise<Result>,
): Promise<Result | ({ readonly kind: 'refused' } & SessionRefusal)> {
  return (await found(reply)) ?? { kind: 'refused', why: 'session-unknown', session };
}

async function found<Result>(reply: Promise<Result>): Promise<Result | undefined> {
  try {
    return await reply;
  } catch (fault) {
    if (fault instanceof Fault && fault.code === 'session-unknown') return undefined;
    throw fault;
  }
}

// Hints of the coordinator. While this process waits for keys, one request stays open for them.

const HELD_MS = 25_000;
const TROUBLE_PAUSE_MS = 1_000;

class RemoteHints extends Listeners<[LeaseKey]> {
  readonly #transport: Transport;
  readonly #timers: Timers;
  readonly #stop: AbortController = new AbortController();
  #isWaiting = false;
  /**
   * If it is known before the first acquire, no hint is lost between it and the first wait. If it is
   * not, the first request only finds the position.
   */
  #next: number | undefined;

  constructor(transport: Transport, timers: Timers, next?: number) {
    super();
    this.#transport = transport;
    this.#timers = timers;
    this.#next = next;
  }

  override listen(listener: (key: LeaseKey) => void): () => void {
    // A wrapper, so that one listener can register twice.
    const unlisten = super.listen((key) => listener(key));
    // A queue does not hold requests, so its clients poll.
    if (!this.#isWaiting && this.#transport.doubles !== true) {
      this.#isWaiting = true;
      void this.#wait();
    }
    return unlisten;
  }

  close(): void {
    this.clear();
    this.#stop.abort();
  }

  async #wait(): Promise<void> {
    const { signal } = this.#stop;
    while (this.size > 0) {
      const body = this.#next === undefined ? {} : { waitMs: HELD_MS, after: this.#next };
      const message = { kind: 'waitForLeaseHint', body, signal, timeoutMs: HELD_MS * 2 } as const;
      try {
        const { keys, next } = await this.#transport.request<Hinted>(message);
        this.#next = next;
        for (const key of keys) this.call(key);
      } catch {
        // Waiters poll meanwhile.
        await this.#timers.pause(TROUBLE_PAUSE_MS, signal);
      }
    }
    this.#isWaiting = false;
  }
}
