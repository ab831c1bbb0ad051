// A session in its process. It is opened once, its heartbeat loop keeps it alive, it carries any
// number of leases, and it ends once. `signal` aborts when it is over for good, but not for a
// lapse.

import { Fault, InvalidInput, StoreSealed, StoreUnavailable } from '../support/fault.ts';
import { type AcquireOptions, type AcquireOutcome, acquireLease } from './acquire-lease.ts';
import { momentOf } from './authority.ts';
import { DECLARED_EXITS, type DeclaredExit } from './exit.ts';
import { HeartbeatLoop, type HeartbeatSource } from './heartbeat-loop.ts';
import type { HeldLease } from './held-lease.ts';
import { type Owner, parseSessionId, type SessionId } from './names.ts';
import type { HeartbeatResult, SessionEnded, SessionLife } from './port.ts';
import { describeRefusal, type SessionRefusal } from './refusal.ts';
import { SessionCore } from './session-core.ts';
import {
  type HostedSessionOptions,
  resolveSessionOptions,
  type SessionConfig,
  type SessionOptions,
} from './session-options.ts';
import { isSealed, isStoreOutage, type StoreOutage } from './store-call.ts';

/**
 * A live session: one heartbeat keeps any number of leases. Open one with `openSession`.
 *
 * @example
 * await using session = await openSession({ store, owner: 'billing@host-3' });
 * const outcome = await session.acquire('reports/daily');
 * if (outcome.kind === 'acquired') await outcome.lease.release('finished');
 */
export interface Session {
  /** The session's id: one life of one process, never reused. */
  readonly id: SessionId;
  /** The name that operators see. */
  readonly owner: Owner;
  /**
   * Milliseconds without a heartbeat until the session expires. The store may have clamped the
   * value that you asked for.
   */
  readonly ttlMs: number;
  /** Aborts when the session has ended, expired or been closed. A lapse does not abort it. */
  readonly signal: AbortSignal;
  /** Returns the milliseconds for which its leases have authority, at most. */
  remainingMs(): number;
  /** The leases that the session holds now. */
  readonly leases: readonly HeldLease[];
  /**
   * Acquires the lease of a key. By default it does not wait.
   *
   * Returns refusals and outages as values. Throws `InvalidInput` for invalid arguments.
   *
   * @example
   * const outcome = await session.acquire('reports/daily', { wait: true, timeoutMs: 10_000 });
   * if (outcome.kind === 'acquired') outcome.lease.assertHeld(1_000);
   */
  acquire(key: string, options?: AcquireOptions): Promise<AcquireOutcome>;
  /** Opens a session that ends when this one ends. Throws as `openSession` does. */
  openChild(options: Omit<SessionOptions, 'store'>): Promise<Session>;
  /** Sends a heartbeat now. You need not: the session sends them on its own, three per ttl. */
  heartbeat(): Promise<HeartbeatResult | StoreOutage>;
  /**
   * Stops heartbeats without ending the session. Use it if its work cannot be stopped: the leases
   * expire after their ttl, so no successor enters while the work may still run.
   */
  orphan(): Promise<void>;
  /** Reports a problem that ends nothing to the observer. */
  reportTrouble(cause: string): void;
  /**
   * Ends the session and its leases with this exit (default `finished`). Waits up to 5 s for the
   * store.
   *
   * Returns an outage as a value; then the leases expire after their ttl. Throws `InvalidInput` for
   * an unknown exit.
   */
  close(exit?: DeclaredExit): Promise<SessionEnded | StoreOutage>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The store refused to open the session. A retry does not help. */
export class SessionRefused extends Fault {
  override readonly name = 'SessionRefused';
  /** The reason, for programs. */
  readonly refusal: SessionRefusal;

  constructor(refusal: SessionRefusal) {
    super('session-refused', describeRefusal(refusal));
    this.refusal = refusal;
  }
}

const OPEN_MS_MAX = 10_000;
const CLOSE_MS_MAX = 5_000;
const OVER: SessionEnded = { kind: 'ended', replayed: true };

/**
 * Opens a session and keeps it alive with heartbeats until you close it. An open session keeps the
 * process running.
 *
 * Throws `InvalidInput` for invalid options, `SessionRefused` if the store refuses it, and
 * `StoreUnavailable` if the store cannot be reached for 10 s. `await using` closes the session at
 * the end of its block.
 *
 * @example
 * import { openSqliteStore } from 'holdfast/store/sqlite';
 *
 * await using session = await openSession({
 *   store: await openSqliteStore({ file: './leases.db' }),
 *   owner: 'billing@host-3',
 *   ttlMs: 10_000,
 * });
 */
export async function openSession(options: SessionOptions): Promise<Session> {
  return openUnder({}, options);
}

/**
 * Provides the heartbeat source of an opened session and its descendants, if not their own event
 * loop.
 */
export type SourceOf = (opened: {
  readonly id: SessionId;
  readonly ttlMs: number;
  readonly config: SessionConfig;
}) => HeartbeatSource | undefined;

export async function openUnder(
  seam: { readonly parent?: SessionCore; readonly sourceOf?: SourceOf },
  options: HostedSessionOptions,
): Promise<Session> {
  const { parent, sourceOf } = seam;
  const config = resolveSessionOptions(options);
  const id = parseSessionId(config.random.uuid());
  const core = new SessionCore(id, config, parent);
  const { owner, ttlMs, graceMs, metadata } = config;
  const request = { id, owner, ttlMs, graceMs, metadata, ...(parent && { parent: parent.id }) };
  let sentAt = momentOf(config.clock);
  const result = await core.retry('open-session', {
    withinMs: OPEN_MS_MAX,
    call: () => {
      sentAt = momentOf(config.clock);
      return core.sessions.open(request);
    },
  });
  if (isStoreOutage(result)) {
    throw new StoreUnavailable(`The session could not be opened. ${result.fault.message}`, {
      cause: result.fault,
    });
  }
  if (result.kind === 'refused') throw new SessionRefused(result);
  const source = sourceOf?.({ id, ttlMs: result.ttlMs, config });
  const kept = { ...(sourceOf && { sourceOf }), ...(source && { source }) };
  return new LiveSession(core, { ...result, ...kept }, sentAt);
}

class LiveSession implements Session {
  readonly ttlMs: number;
  readonly #core: SessionCore;
  readonly #heartbeats: HeartbeatLoop;
  readonly #sourceOf: SourceOf | undefined;
  readonly #over: AbortController = new AbortController();
  #wasEndedAbove = false;

  constructor(
    core: SessionCore,
    opened: SessionLife & { readonly source?: HeartbeatSource; readonly sourceOf?: SourceOf },
    sentAt: ReturnType<typeof momentOf>,
  ) {
    this.#core = core;
    this.ttlMs = opened.ttlMs;
    this.#sourceOf = opened.sourceOf;
    core.lost = (why) => this.#lose(why);
    this.#heartbeats = new HeartbeatLoop(core, opened);
    this.#heartbeats.start(opened.authorityMs, sentAt);
    core.endedAbove = (detail) => this.#loseWithParent(detail);
    core.above?.below.add(core);
    // The parent may have been closed while this session was being opened.
    if (core.above !== undefined && core.above.authority === undefined) {
      this.#loseWithParent('It was closed.');
    }
  }

  get id(): SessionId {
    return this.#core.id;
  }

  get owner(): Owner {
    return this.#core.config.owner;
  }

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  get leases(): readonly HeldLease[] {
    return [...this.#core.handles.values()];
  }

  remainingMs(): number {
    return this.#core.remainingMs();
  }

  acquire(key: string, options: AcquireOptions = {}): Promise<AcquireOutcome> {
    const acquire = (): Promise<AcquireOutcome> =>
      acquireLease(this.#core, { key, options, over: this.#over.signal });
    return options.fromCheckpointBefore === true
      ? this.#core.whileGoingBack(key, acquire)
      : acquire();
  }

  openChild(options: Omit<SessionOptions, 'store'>): Promise<Session> {
    const sourceOf = this.#sourceOf;
    return openUnder(
      { parent: this.#core, ...(sourceOf && { sourceOf }) },
      { ...options, store: this.#core.config.store },
    );
  }

  reportTrouble(cause: string): void {
    this.#core.trouble(cause);
  }

  heartbeat(): Promise<HeartbeatResult | StoreOutage> {
    return this.#heartbeats.beat();
  }

  async orphan(): Promise<void> {
    await this.#heartbeats.stopBeating();
  }

  close(exit: DeclaredExit = 'finished'): Promise<SessionEnded | StoreOutage> {
    if (!DECLARED_EXITS.includes(exit)) {
      throw new InvalidInput(`exit must be one of ${DECLARED_EXITS.join(', ')}; got "${exit}".`);
    }
    this.#core.closing ??= this.#close(exit);
    return this.#core.closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(exit: DeclaredExit): Promise<SessionEnded | StoreOutage> {
    const wasOver = this.#over.signal.aborted;
    this.#end('released', 'The session was closed.');
    await this.#heartbeats.stop();
    if (this.#wasEndedAbove) return this.#core.above?.ending ?? OVER;
    if (wasOver) return OVER;
    const { id, config, sessions } = this.#core;
    const by = { kind: 'owner', owner: config.owner, exit } as const;
    try {
      return await this.#core.retry('end-session', {
        withinMs: CLOSE_MS_MAX,
        call: () => sessions.end({ id, by }),
      });
    } catch (fault) {
      if (!isSealed(fault)) throw fault;
      // The seal has already ended this session, and refuses any further write (EX-1).
      return { kind: 'unavailable', fault: new StoreUnavailable(fault.message, { cause: fault }) };
    }
  }

  #lose(why: SessionRefusal | StoreSealed): void {
    this.#loseFor(why instanceof StoreSealed ? why.message : describeRefusal(why));
  }

  #loseWithParent(detail: string): void {
    this.#wasEndedAbove = !this.#over.signal.aborted;
    this.#loseFor(`Its parent session is over. ${detail}`);
  }

  #loseFor(cause: string): void {
    if (this.#over.signal.aborted) return;
    const { relay, handles, id } = this.#core;
    relay.report({ kind: 'lost', session: id, leases: handles.size, cause });
    this.#end('lost', cause);
    void this.#heartbeats.stop();
  }

  /**
   * Reports the loss once for the session, then for each lease (S-2), and for everything below it
   * (H-2).
   */
  #end(by: 'lost' | 'released', detail: string): void {
    const { above, below } = this.#core;
    this.#core.authority = undefined;
    this.#core.over = { by, detail };
    above?.below.delete(this.#core);
    for (const child of [...below]) child.endedAbove(detail);
    this.#over.abort(new Fault('session-over', detail));
    this.#core.settleWaiting();
    for (const handle of [...this.#core.handles.values()]) handle.withdraw(by, detail);
  }
}
