// `ctx.lease`: a block of code that runs only while its execution holds a lease.
//
//   acquire ──▶ block ──▶ journal `lease-ended` ──▶ release ──▶ code continues
//      ▲          │
//      └── wake ──┴── park, stop, lost claim: release as `yielded` or `abandoned`
//
// - The worker's session carries the lease, so lease and claim end together.
// - A replay acquires the lease of a block that has not ended before it enters the block, under a
//   higher fence. It enters a block that has ended without the lease, because nothing runs there.
// - The event `lease-ended` settles the call, so code after the block continues in the order of
//   history. The block's own result is not recorded: the replayed block returns it again.

import { AsyncLocalStorage } from 'node:async_hooks';
import type { CallKey } from '../../../execution/names.ts';
import {
  type LeaseCallState,
  leaseCallDetails,
  storedKeyOf,
} from '../../../features/leases/model.ts';
import type { AcquireOutcome } from '../../../lease/acquire-lease.ts';
import type { DeclaredExit } from '../../../lease/exit.ts';
import { FENCE_ORIGIN, type Fence, toFence } from '../../../lease/fence.ts';
import type { HeldLease } from '../../../lease/held-lease.ts';
import { type LeaseKey, parseLeaseKey } from '../../../lease/names.ts';
import { type LeaseNotHeld, notHeld } from '../../../lease/not-held.ts';
import { describeRefusal } from '../../../lease/refusal.ts';
import type { Instant } from '../../../support/clock.ts';
import { Fault, InvalidInput } from '../../../support/fault.ts';
import { integerOption, shown, thrownText } from '../../../support/options.ts';
import { jittered } from '../../../support/random.ts';
import { hasStore } from '../../config.ts';
import type { ExecutionLease } from '../../context.ts';
import { PromisedCall } from '../call.ts';
import { bugOf } from '../claim-exit.ts';
import { after, guardedSignal, ignored } from '../guarded.ts';
import type { CallBody, Opening, Settlement } from '../ledger.ts';
import type { Run } from '../run.ts';

/**
 * After this many times `parkAfterMs` in the lease's queue, the execution parks and tries again
 * later. So it does not occupy a slot for long, and releases leases that others may wait for.
 */
const QUEUE_PARTS = 100;
/** Polls as well, because hints can be lost. */
const POLL_MS = 1_000;
const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 60_000;

/** The checked arguments of `ctx.lease`. */
export interface LeasePlan<Output> {
  readonly key: CallKey;
  readonly resource: LeaseKey;
  readonly block: (lease: ExecutionLease) => Output | Promise<Output>;
}

/**
 * - `new`: history may settle it.
 * - `acquiring`: in the queue of the lease, or waiting to try again.
 * - `open`: the block runs. Without a `lease`, it only replays.
 * - `left`: the execution has left this process, or the lease is lost.
 */
type Phase =
  | { readonly kind: 'new' | 'acquiring' | 'left' }
  | { readonly kind: 'open'; readonly lease: HeldLease | undefined };

type BlockEnd<Output> =
  | { readonly kind: 'returned'; readonly value: Output }
  | { readonly kind: 'threw'; readonly error: unknown };

export class LeaseBlock<Output> extends PromisedCall<LeasePlan<Output>, Output> {
  #phase: Phase = { kind: 'new' };
  readonly #leaving: AbortController = new AbortController();
  readonly #ended: PromiseWithResolvers<void> = Promise.withResolvers();
  #end: BlockEnd<Output> | undefined;
  #fence: Fence | undefined;
  #startedTick = 0;
  /** A step may act until then by the monotonic clock. */
  #assertedUntilMs = 0;

  /** History decides first: it may have the end of the block, or calls inside it. */
  check(): void {
    const { run } = this;
    if (this.#phase.kind !== 'new') return;
    const ended = run.ledger.settlements.find(({ body }) => body.key === this.key);
    if (ended !== undefined || run.isFrozen) {
      this.#fence = ended?.body.fence;
      this.#open(undefined);
    } else if (run.settling.isReplaying || run.ledger.lacksOpen) this.#enter();
  }

  override start(_opening: Opening | undefined): void {
    this.#enter();
  }

  /** The lease ends before the code continues. */
  override settle({ seq }: Settlement): void | Promise<void> {
    if (this.#end !== undefined) return this.#deliver(this.#end);
    this.#watchForDrift(seq);
    return this.#ended.promise.then(() => this.#end && this.#deliver(this.#end));
  }

  ended(): Promise<void> {
    return this.promised.promise.then(ignored, ignored);
  }

  /** The execution leaves this process. A later owner continues the block. */
  override leave(): void {
    super.leave();
    const { activeSteps, config } = this.run;
    if (activeSteps === 0) this.#stop('yielded');
    else this.#stop('abandoned', this.#assertedUntilMs - config.clock.monotonicMs());
  }

  /** Its code has asserted the lease for so long. */
  asserted(marginMs: number): void {
    const untilMs = this.run.config.clock.monotonicMs() + marginMs;
    this.#assertedUntilMs = Math.max(this.#assertedUntilMs, untilMs);
  }

  get isEntering(): boolean {
    return this.#phase.kind === 'new' || this.#phase.kind === 'acquiring';
  }

  get isBlock(): boolean {
    return this.#phase.kind === 'open';
  }

  #enter(): void {
    const { run } = this;
    if (this.#phase.kind !== 'new' || run.isHeld || run.isPastDeadline) return;
    if (run.config.store.leases === undefined && run.config.leaseSession === undefined) {
      this.#refuse(new Fault('not-remote', NO_LEASES));
      return;
    }
    this.#phase = { kind: 'acquiring' };
    run.leases.add(this);
    this.#note({ waits: this.plan.resource });
    this.#acquire().catch((error: unknown) => this.#refuse(error));
  }

  async #acquire(): Promise<void> {
    const { run } = this;
    this.waits = undefined;
    const session = (await run.config.leaseSession?.()) ?? run.session;
    const signal = AbortSignal.any([this.#leaving.signal, run.stop.signal]);
    const timeoutMs = QUEUE_PARTS * run.config.parkAfterMs;
    const options = { wait: true, timeoutMs, pollMs: POLL_MS, signal };
    const outcome = await session.acquire(this.#storedKey(), options);
    if (this.#phase.kind !== 'acquiring' || !this.isWanted) {
      if (outcome.kind === 'acquired') await outcome.lease.release('yielded');
    } else if (outcome.kind === 'acquired') this.#open(outcome.lease);
    else this.#tryLater(outcome);
  }

  /** A coordinator adds the project by itself. */
  #storedKey(): LeaseKey {
    const { config, claimed } = this.run;
    const { resource } = this.plan;
    return hasStore(config) ? storedKeyOf(claimed.execution.project, resource) : resource;
  }

  #tryLater(outcome: Exclude<AcquireOutcome, { kind: 'acquired' }>): void {
    const { run } = this;
    if (outcome.kind === 'refused' && outcome.why === 'retired') {
      this.#refuse(new Fault('lease-refused', describeRefusal(outcome)));
      return;
    }
    // The session is over, so the run is about to be lost.
    if (outcome.kind === 'cancelled') return;
    const { random } = run.config;
    const most = Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** Math.min(run.ledger.idleParks, 10));
    const delayMs = Math.ceil(jittered(random, most, 0.25));
    // The calls inside the block are not made yet, so the execution cannot park for them.
    if (run.isReplaying || run.ledger.lacksOpen) run.events.leaseBusy(delayMs);
    else {
      this.waitUntil((run.storeNow() + delayMs) as Instant, () => {
        this.#acquire().catch((error: unknown) => this.#refuse(error));
      });
    }
  }

  #open(lease: HeldLease | undefined): void {
    const { run } = this;
    this.#phase = { kind: 'open', lease };
    this.waits = undefined;
    this.#startedTick = run.config.clock.monotonicMs();
    run.leases.add(this);
    if (lease !== undefined) {
      this.#fence = lease.fence;
      this.#note({ holds: this.plan.resource, fence: lease.fence });
      this.#watch(lease);
    }
    run.noteActivity();
    const { block, resource } = this.plan;
    const given = new BlockLease(this, run, resource);
    blocks
      .run({ run, resource, outer: blocks.getStore() }, async () => block(given))
      .then(
        (value): BlockEnd<Output> => ({ kind: 'returned', value }),
        (error: unknown): BlockEnd<Output> => ({ kind: 'threw', error }),
      )
      .then((end) => this.#blockEnded(end))
      .catch((error: unknown) => run.troubled(error));
  }

  #blockEnded(end: BlockEnd<Output>): void {
    const { run } = this;
    this.#end = end;
    this.#ended.resolve();
    const isCalled = run.calls.get(this.key) === this;
    if (this.#phase.kind === 'left' || !this.isWanted || !isCalled) {
      this.#stop('abandoned');
      return;
    }
    // A bug ends nothing: fixed code continues in this block.
    const isBug = end.kind === 'threw' && bugOf(run.pipeline, end.error) !== undefined;
    if (isBug) {
      run.calls.delete(this.key);
      void this.#deliver(end);
    } else if (this.#phase.kind === 'open' && this.#phase.lease !== undefined) this.#recordEnd();
    else run.rest();
  }

  #recordEnd(): void {
    const { run } = this;
    const { key, resource } = this.plan;
    run.active(1);
    run.heartbeats.end(key);
    const fence = this.#fence && { fence: this.#fence };
    const body: CallBody = { key, ...fence, ...run.under(key), ...run.timing(this.#startedTick) };
    this.recordEnd({ event: { kind: 'lease-ended', name: resource }, body });
  }

  async #deliver(end: BlockEnd<Output>): Promise<void> {
    if (end.kind === 'returned') {
      await this.#release('finished');
      this.promised.resolve(end.value);
    } else {
      await this.#release('failed', { cause: thrownText(end.error) });
      // The error is the code's own, so it may be a bug: it is no rejection of `ctx`.
      this.promised.promise.catch(ignored);
      this.promised.reject(end.error);
    }
  }

  /** The code gets the error, and a replay makes the call again. */
  #refuse(error: unknown): void {
    this.#stop('abandoned');
    if (!this.run.calls.delete(this.key)) return;
    this.run.heartbeats.end(this.key);
    this.reject(error instanceof Error ? error : new Error(thrownText(error)));
    this.run.rest();
  }

  #stop(exit: DeclaredExit, afterMs = 0): void {
    const release = this.#release(exit, { afterMs });
    release.catch((error: unknown) => this.run.troubled(error));
    this.#leaving.abort();
  }

  /**
   * Only the first call releases. The code loses its authority at once. The release waits until no
   * step may act any more (P2), and the session repeats it.
   */
  async #release(
    exit: DeclaredExit,
    { afterMs = 0, ...about }: { readonly afterMs?: number; readonly cause?: string } = {},
  ): Promise<void> {
    const phase = this.#phase;
    this.#phase = { kind: 'left' };
    this.run.leases.delete(this);
    if (phase.kind !== 'open') return;
    if (afterMs > 0) await this.run.config.timers.pause(afterMs);
    await phase.lease?.release(exit, about);
  }

  #watch(lease: HeldLease): void {
    const lost = (): void => {
      const reason: LeaseNotHeld = lease.signal.reason;
      if (this.#phase.kind !== 'open' || this.#phase.lease !== lease) return;
      if (reason.by === 'lapsed') this.#rejoin(lease).catch((error) => this.run.troubled(error));
      else this.#lose(reason);
    };
    if (lease.signal.aborted) lost();
    else lease.signal.addEventListener('abort', lost, { once: true });
  }

  /** After a lapse, the same term goes on if no successor has entered (G-3). */
  async #rejoin(lapsed: HeldLease): Promise<void> {
    const outcome = await lapsed.rejoin();
    if (this.#phase.kind !== 'open' || this.#phase.lease !== lapsed) return;
    if (outcome.kind === 'rejoined') {
      this.#phase = { kind: 'open', lease: outcome.lease };
      this.#watch(outcome.lease);
    } else this.#lose(lapsed.signal.reason);
  }

  #lose(reason: LeaseNotHeld): void {
    this.#phase = { kind: 'left' };
    this.run.leases.delete(this);
    this.run.events.leaseLost(reason);
  }

  /** For explanations. */
  #note(state: LeaseCallState): void {
    const { run } = this;
    const details = leaseCallDetails(state);
    run.heartbeats.note({ key: this.key, attempt: 1, at: run.storeNow(), details }, false);
  }

  /** History has the end of the block, but its code waits for a call that history does not have. */
  #watchForDrift(seq: number): void {
    const { run } = this;
    after(run, run.config.driftGraceMs, () => {
      if (this.#end !== undefined || run.isOver || run.isHeld) return;
      const [found] = run.pendingCalls;
      if (found === undefined) this.#watchForDrift(seq);
      else run.events.drifted({ expected: `the end of ${this.key}`, found: found.key, seq });
    });
  }

  /** The lease of the block; undefined while the block only replays, or after it was lost. */
  get held(): HeldLease | undefined {
    return this.#phase.kind === 'open' ? this.#phase.lease : undefined;
  }

  get isReplayed(): boolean {
    return this.#phase.kind === 'open' && this.#phase.lease === undefined;
  }

  /** In a replay, the fence of the recorded term. A guard refuses it, as it should. */
  get fence(): Fence {
    return this.#fence ?? toFence(FENCE_ORIGIN);
  }
}

const NO_LEASES =
  'This worker cannot acquire leases: its coordinator offers none, or it is a push handler without a coordinator. Nothing was acquired. Upgrade the coordinator, or pass pushHandler({ coordinator: { url, key } }).';

type Term = Pick<LeaseBlock<unknown>, 'held' | 'fence' | 'isReplayed' | 'asserted'>;

/** The lease that the code of the block gets. */
class BlockLease implements ExecutionLease {
  readonly key: string;
  readonly #call: Term;
  readonly #run: Run;
  readonly #stop: Run['stop'];

  constructor(call: Term, run: Run, resource: LeaseKey) {
    this.key = resource;
    this.#call = call;
    this.#run = run;
    this.#stop = run.stop;
  }

  get fence(): Fence {
    return this.#call.fence;
  }

  get signal(): AbortSignal {
    return guardedSignal(this.#stop.signal, this.#run);
  }

  remainingMs(): number {
    return this.#call.held?.remainingMs() ?? 0;
  }

  assertHeld(marginMs = 0): void {
    integerOption('assertHeld: marginMs', marginMs, { min: 0, max: Number.MAX_SAFE_INTEGER });
    const { held, isReplayed } = this.#call;
    // A replay must take the same path again.
    if (isReplayed) return;
    if (held === undefined) throw notHeld(this.key as LeaseKey, 'lost');
    held.assertHeld(marginMs);
    this.#call.asserted(marginMs);
  }
}

interface OpenBlock {
  readonly run: object;
  readonly resource: LeaseKey;
  readonly outer: OpenBlock | undefined;
}

/** The blocks around the current code. */
const blocks: AsyncLocalStorage<OpenBlock> = new AsyncLocalStorage();

/** Throws if the code is already in a block of this resource: it would wait for itself. */
export function resourceOf(run: object, given: unknown): LeaseKey {
  if (typeof given !== 'string') {
    throw new InvalidInput(`ctx.lease: the resource must be a string; got ${shown(given)}.`);
  }
  const resource = parseLeaseKey(given);
  for (let block = blocks.getStore(); block !== undefined; block = block.outer) {
    if (block.run !== run || block.resource !== resource) continue;
    throw new InvalidInput(
      `ctx.lease(${shown(given)}) was called inside a block of the same lease, and would wait for itself. Nothing was acquired. Use the lease of the outer block.`,
    );
  }
  return resource;
}
