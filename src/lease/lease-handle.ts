// The handle behind a HeldLease. It sends the holder's calls to the store, under its authority.

import { digestOf } from '../support/digest.ts';
import { InvalidInput } from '../support/fault.ts';
import { integerOption, rejectUnknownOptions } from '../support/options.ts';
import { Authority, type Moment, momentOf } from './authority.ts';
import { DECLARED_EXITS, type DeclaredExit } from './exit.ts';
import type { Fence } from './fence.ts';
import type { HeldLease, NotHeld, RejoinOutcome } from './held-lease.ts';
import type { Checkpoint, Drain, Intent, Predecessor } from './lease.ts';
import { lookUp } from './look-up.ts';
import { type LeaseKey, parseEffectId, parseText } from './names.ts';
import { type EndedBy, type LeaseNotHeld, notHeld, type WithdrawnBy } from './not-held.ts';
import { callSafely, causeOf, type LeaseOperation } from './observer.ts';
import type {
  CheckpointResult,
  FenceVerified,
  Grant,
  IntentBegun,
  IntentSettled,
  Released,
  Tenure,
} from './port.ts';
import type { SessionCore, StoreCall } from './session-core.ts';
import { isStoreOutage, type StoreOutage } from './store-call.ts';

function repeated(result: Released | NotHeld | StoreOutage): Released | NotHeld | StoreOutage {
  return result.kind === 'released' ? { ...result, replayed: true } : result;
}

/** Copies the bytes. A value of another type would be stored as empty and reported as saved. */
function bytesOf(bytes: Uint8Array | string): Uint8Array {
  if (typeof bytes === 'string') return Buffer.from(bytes);
  if (bytes instanceof Uint8Array) return Uint8Array.from(bytes);
  throw new InvalidInput(
    `A checkpoint must be a string or a Uint8Array; got ${typeof bytes}. JSON.stringify it first.`,
  );
}

export class LeaseHandle implements HeldLease {
  readonly key: LeaseKey;
  readonly fence: Fence;
  readonly predecessor: Predecessor;
  readonly intents: readonly Intent[];
  readonly lossesSinceCheckpoint: number;
  readonly #core: SessionCore;
  readonly #abort: AbortController = new AbortController();
  readonly #drainListeners: Set<(drain: Drain) => void> = new Set();
  #restored: Checkpoint | undefined;
  #drain: Drain | undefined;
  #deadline: Authority | undefined;
  /** The handle no longer decides about the term: it was rejoined, or is being released. */
  #goesOn = false;
  #releasing: Promise<Released | NotHeld | StoreOutage> | undefined;
  #rejoining: Promise<RejoinOutcome> | undefined;
  #successor: RejoinOutcome | undefined;
  /** The last checkpoint under way. The next one waits for it. */
  #saving: Promise<unknown> = Promise.resolve();

  constructor(core: SessionCore, grant: Grant, sentAt: Moment) {
    this.#core = core;
    this.key = grant.key;
    this.fence = grant.fence;
    this.predecessor = grant.predecessor;
    this.#restored = grant.checkpoint;
    this.intents = grant.intents;
    this.lossesSinceCheckpoint = grant.lossesSinceCheckpoint;
    if (grant.deadlineInMs !== undefined) this.setDeadline(grant.deadlineInMs, sentAt);
  }

  get restored(): Checkpoint | undefined {
    return this.#restored;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get drain(): Drain | undefined {
    return this.#drain;
  }

  remainingMs(): number {
    return this.#abort.signal.aborted ? 0 : this.#authorityMs();
  }

  #authorityMs(): number {
    const own = this.#deadline?.remainingMs() ?? Number.POSITIVE_INFINITY;
    const remaining = Math.min(own, this.#core.remainingMs());
    // The first caller that checks finds out. No timer needs to have fired (C-5).
    const { over } = this.#core;
    if (over !== undefined) this.withdraw(over.by, over.detail);
    else if (own <= 0) this.withdraw('deadline', this.#stopWasRequested());
    else if (remaining <= 0) this.withdraw('lapsed');
    return remaining;
  }

  /** The operator of the drain, if there was one. */
  #stopWasRequested(): EndedBy | undefined {
    if (this.#drain === undefined) return undefined;
    return { exit: 'revoked', actor: this.#drain.actor, cause: this.#drain.reason };
  }

  assertHeld(marginMs: number): void {
    integerOption('marginMs', marginMs, { min: 0, max: Number.MAX_SAFE_INTEGER });
    const remaining = this.remainingMs();
    if (this.#abort.signal.aborted) throw this.#abort.signal.reason;
    if (remaining < marginMs) {
      throw notHeld(
        this.key,
        'too-little-left',
        `${marginMs} ms asked, ${Math.floor(remaining)} ms left.`,
      );
    }
  }

  checkpoint(
    bytes: Uint8Array | string,
    options: { readonly type?: string } = {},
  ): Promise<CheckpointResult | NotHeld | StoreOutage> {
    rejectUnknownOptions('checkpoint', options, ['type']);
    const { aborted, reason } = this.signal;
    if (aborted) return Promise.resolve({ kind: 'not-held', reason });
    const type = options.type === undefined ? {} : { type: parseText('type', options.type) };
    const copy = bytesOf(bytes);
    const saving = this.#saving.then(() => this.#save(copy, type));
    this.#saving = saving.catch(() => undefined);
    return saving;
  }

  async #save(
    bytes: Uint8Array,
    type: { readonly type?: string },
  ): Promise<CheckpointResult | NotHeld | StoreOutage> {
    const seq = (this.#restored?.seq ?? 0) + 1;
    const digest = digestOf(bytes);
    const request = { ...this.#tenure(), seq, bytes, digest, ...type };
    const parts = { bytes: bytes.byteLength, saves: { seq, digest } };
    const result = await this.#untilReplied('checkpoint', parts, () =>
      this.#core.leases.checkpoint(request),
    );
    if (result.kind === 'saved') {
      const at = this.#core.storeTime();
      this.#restored = { seq, bytes, digest, fence: this.fence, at, ...type };
    }
    return result;
  }

  async intent(effect: string, note?: string): Promise<IntentBegun | NotHeld | StoreOutage> {
    const request = {
      ...this.#tenure(),
      effect: parseEffectId(effect),
      ...(note === undefined ? {} : { note: parseText('note', note) }),
    };
    if (this.signal.aborted) return { kind: 'not-held', reason: this.signal.reason };
    return this.#untilReplied('begin-intent', {}, () => this.#core.leases.beginIntent(request));
  }

  async settle(effect: string): Promise<IntentSettled | NotHeld | StoreOutage> {
    const request = { ...this.#tenure(), effect: parseEffectId(effect) };
    if (this.signal.aborted) return { kind: 'not-held', reason: this.signal.reason };
    return this.#untilReplied('settle-intent', {}, () => this.#core.leases.settleIntent(request));
  }

  async release(
    exit: DeclaredExit,
    options: { readonly cause?: string } = {},
  ): Promise<Released | NotHeld | StoreOutage> {
    rejectUnknownOptions('release', options, ['cause']);
    if (!DECLARED_EXITS.includes(exit)) {
      throw new InvalidInput(`exit must be one of ${DECLARED_EXITS.join(', ')}; got "${exit}".`);
    }
    const cause = options.cause === undefined ? {} : { cause: parseText('cause', options.cause) };
    this.remainingMs();
    const reason: LeaseNotHeld | undefined = this.signal.reason;
    // The session still carries a lapsed term. Until it is released, no other session gets the key.
    const lapsed = reason?.by === 'lapsed' && !this.#goesOn;
    // A second release, as in a `finally`, succeeds (L-2).
    if (this.#releasing !== undefined) return repeated(await this.#releasing);
    if (reason !== undefined && !lapsed) return { kind: 'not-held', reason };
    this.#goesOn = true;
    this.withdraw('released');
    this.#releasing = this.#giveBack({ exit, ...cause }, reason);
    return this.#releasing;
  }

  async #giveBack(
    end: { readonly exit: DeclaredExit; readonly cause?: string },
    lapsed: LeaseNotHeld | undefined,
  ): Promise<Released | NotHeld | StoreOutage> {
    await this.#saving;
    return this.#core.giveBack({ ...this.#tenure(), ...end }, lapsed);
  }

  rejoin(): Promise<RejoinOutcome> {
    const reason: LeaseNotHeld | undefined = this.signal.reason;
    if (reason === undefined) return Promise.resolve({ kind: 'rejoined', lease: this });
    if (reason.by !== 'lapsed') return Promise.resolve({ kind: 'not-held', reason });
    this.#rejoining ??= this.#rejoin(reason).finally(() => {
      this.#rejoining = undefined;
    });
    return this.#rejoining;
  }

  /** Checks after every await: a release in between wins. */
  async #rejoin(reason: LeaseNotHeld): Promise<RejoinOutcome> {
    if (this.#goesOn) return this.#successor ?? this.#notAgain(reason);
    await this.#core.aliveAgain();
    if (this.#goesOn || this.#core.remainingMs() <= 0) return this.#notAgain(reason);
    const sentAt = momentOf(this.#core.config.clock);
    const { key, fence } = this;
    const result = await this.#core.retry<FenceVerified>('acquire', {
      key,
      fence,
      withinMs: this.#core.remainingMs(),
      call: () => this.#core.leases.verify({ key, fence }),
    });
    if (this.#goesOn) return this.#notAgain(reason);
    if (result.kind !== 'current') return result;
    const lease = this.#again(sentAt);
    // Register the new handle first, so that later notices also concern it.
    this.#core.carry(lease);
    const known = await lookUp(this.#core, [lease]);
    if (this.#goesOn || !known || lease.signal.aborted) {
      lease.withdraw('lapsed');
      return this.#notAgain(reason);
    }
    this.#goesOn = true;
    this.#successor = { kind: 'rejoined', lease };
    return this.#successor;
  }

  /** After a lapse, the caller may try again. If the session is over, it cannot. */
  #notAgain(lapsed: LeaseNotHeld): NotHeld {
    const { over } = this.#core;
    const reason = over === undefined ? lapsed : notHeld(this.key, over.by, over.detail);
    return { kind: 'not-held', reason };
  }

  onDrain(listener: (drain: Drain) => void): () => void {
    this.#drainListeners.add(listener);
    return () => this.#drainListeners.delete(listener);
  }

  reportOverrun(overrunMs: number, settled = true): void {
    const { key, fence } = this;
    const term = { session: this.#core.id, key, fence };
    const still = settled ? {} : ({ stillRunning: true } as const);
    this.#core.relay.report({ kind: 'overrun', ...term, overrunMs, ...still });
  }

  /** Called by the session when authority has ended. Idempotent. */
  withdraw(by: WithdrawnBy, detail?: string | EndedBy): void {
    if (this.#abort.signal.aborted) return;
    this.#core.drop(this);
    if (by === 'lost' || by === 'deadline') this.#core.disowned.ended(this.fence);
    this.#abort.abort(notHeld(this.key, by, detail));
  }

  /**
   * Called by the session when the store reports a deadline: of a drain, or of the greatest tenure.
   */
  setDeadline(deadlineInMs: number, sentAt: Moment): void {
    const { clock, caution } = this.#core.config;
    this.#deadline = new Authority(clock, { sentAt, grantedMs: deadlineInMs }, caution);
  }

  /** Called by the session when a drain was requested. */
  noteDrain(drain: Drain): void {
    if (this.#drain !== undefined) return;
    this.#drain = drain;
    const onError = (error: unknown): void => this.#core.trouble(`onDrain: ${causeOf(error)}`);
    for (const listener of this.#drainListeners) {
      this.#core.config.timers.soon(() => callSafely(() => listener(drain), onError));
    }
  }

  #again(sentAt: Moment): LeaseHandle {
    const handle = new LeaseHandle(
      this.#core,
      {
        key: this.key,
        fence: this.fence,
        grantedAt: this.#core.storeTime(),
        authorityMs: 0,
        intents: this.intents,
        predecessor: this.predecessor,
        lossesSinceCheckpoint: this.lossesSinceCheckpoint,
        ...(this.#restored === undefined ? {} : { checkpoint: this.#restored }),
      },
      sentAt,
    );
    handle.#deadline = this.#deadline;
    if (this.#drain !== undefined) handle.noteDrain(this.#drain);
    return handle;
  }

  #tenure(): Tenure {
    return { key: this.key, fence: this.fence, session: this.#core.id };
  }

  /**
   * Repeats while the outcome is unknown and authority lasts. Each call is safe to repeat (U-1).
   */
  async #untilReplied<Result extends { readonly kind: string }>(
    operation: LeaseOperation,
    parts: Pick<StoreCall<Result>, 'bytes' | 'saves'>,
    call: () => Promise<Result>,
  ): Promise<Result | NotHeld | StoreOutage> {
    let last: StoreOutage | undefined;
    for (;;) {
      // A release in between waits for this write, which came first (L-7).
      const { aborted, reason } = this.signal;
      const ended = aborted && reason.by !== 'released';
      if (ended || this.#authorityMs() <= 0) {
        return last ?? { kind: 'not-held', reason: this.signal.reason };
      }
      const { key, fence } = this;
      const result = await this.#core.call(operation, { key, fence, ...parts, call });
      if (!isStoreOutage(result)) return result;
      last = result;
      await this.#core.pauseBriefly();
    }
  }
}
