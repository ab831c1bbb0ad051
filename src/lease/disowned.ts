// Terms and tickets that no caller knows of. A session that renews keeps everything that the store
// has for it. This includes terms whose release got no reply, fell into a lapse or was undone by a
// failover. It also includes late results of attempts that got no reply. The heartbeat loop gives
// them back (U-1).
//
// An attempt is `wanted` while its caller asks: its result belongs to the caller. Once it is taken,
// any other term of it is disowned. Once it is `given-up`, all its terms and its ticket are.

import { elapsedMs, type Moment, momentOf } from './authority.ts';
import type { Fence } from './fence.ts';
import type { LeaseKey } from './names.ts';
import type { Acquire, CarriedLease, LeaseInspection, Released, ReleaseLease } from './port.ts';
import type { SessionCore } from './session-core.ts';
import { callStore, isStoreOutage } from './store-call.ts';

/** Longer than any store continues with a request whose caller is gone. */
const WATCHED_MS = 60_000;

interface Attempt {
  /**
   * When a try last got no reply. Without such a try, there is nothing to watch once the attempt is
   * decided.
   */
  readonly since?: Moment;
  readonly decision: 'wanted' | 'given-up' | Fence;
}

export class Disowned {
  readonly #attempts: Map<Acquire, Attempt> = new Map();
  /** Terms that a caller has, including lapsed ones and those being released. */
  readonly #owned: Set<Fence> = new Set();
  readonly #terms: Map<Fence, ReleaseLease> = new Map();
  #settling: Promise<void> | undefined;
  #hasAcquired = false;

  /** A caller starts to acquire. */
  start(request: Acquire): void {
    this.#hasAcquired = true;
    this.#attempts.set(request, { decision: 'wanted' });
  }

  /** A try of this attempt, or its withdrawal, got no reply. */
  watch(request: Acquire, since: Moment): void {
    const decision = this.#attempts.get(request)?.decision ?? 'wanted';
    this.#attempts.set(request, { since, decision });
  }

  /** The caller has the lease, under this fence. */
  taken(request: Acquire, fence: Fence): void {
    this.#owned.add(fence);
    this.#decide(request, fence);
  }

  /** The caller no longer wants the lease. */
  givenUp(request: Acquire): void {
    this.#decide(request, 'given-up');
  }

  /** Queues a term, to release it as soon as possible. The first declared exit stays. */
  addTerm(request: ReleaseLease): void {
    if (!this.#terms.has(request.fence)) this.#terms.set(request.fence, request);
  }

  /** The store has confirmed that this term is over. */
  ended(fence: Fence): void {
    this.#owned.delete(fence);
    this.#terms.delete(fence);
  }

  /**
   * Gives back terms that the store lists for the session and that no caller has: a failover or a
   * restore undid their release (T-4), or a copy of their acquire came late. Returns false if the
   * store did not reply.
   */
  async disownUnknown(core: SessionCore, carried: readonly CarriedLease[]): Promise<boolean> {
    const unknown = carried.filter(({ fence }) => !this.#owned.has(fence));
    const known = await Promise.all(unknown.map((term) => this.#isUnderWay(core, term)));
    for (const [index, { key, fence }] of unknown.entries()) {
      if (known[index] !== false || this.#owned.has(fence)) continue;
      const cause = 'no caller has it: its release was undone, or a copy of its acquire came late';
      this.addTerm({ key, fence, session: core.id, exit: 'abandoned', cause });
    }
    return !known.includes(undefined);
  }

  /**
   * Runs in parallel to the caller, one at a time, so a call that hangs here delays no heartbeat
   * (R-5).
   */
  settle(core: SessionCore): Promise<void> {
    this.#settling ??= this.#settle(core).finally(() => {
      this.#settling = undefined;
    });
    return this.#settling;
  }

  #decide(request: Acquire, decision: Attempt['decision']): void {
    const since = this.#attempts.get(request)?.since;
    if (since === undefined) this.#attempts.delete(request);
    else this.#attempts.set(request, { since, decision });
  }

  /** Returns true if an acquire under way will get this term. Undefined if that is unknown. */
  async #isUnderWay(core: SessionCore, { key, fence }: CarriedLease): Promise<boolean | undefined> {
    const attempts = [...this.#attempts]
      .filter(([request, { decision }]) => decision === 'wanted' && request.key === key)
      .map(([{ attempt }]) => attempt);
    if (attempts.length === 0) return false;
    const inspection = await inspect(core, key);
    if (inspection === undefined) return undefined;
    const { record } = inspection;
    return record !== undefined && record.fence === fence && attempts.includes(record.attempt);
  }

  /** Never rejects. Work that fails now repeats with the next heartbeat. */
  async #settle(core: SessionCore): Promise<void> {
    if (core.config.store.doubles === true && this.#hasAcquired) await this.#disownCopies(core);
    const attempts = [...this.#attempts].map(([request, attempt]) =>
      this.#check(core, request, attempt),
    );
    await Promise.all(attempts);
    const terms = [...this.#terms.values()].map(async (request) => {
      if (await release(core, request)) this.ended(request.fence);
    });
    await Promise.all(terms);
  }

  /** No reply shows that a copy was granted, so only a look at the store finds it. */
  async #disownCopies(core: SessionCore): Promise<void> {
    const { config, id, sessions } = core;
    const carried = await callStore(
      async () => ({ kind: 'carried', leases: await sessions.leases(id) }) as const,
      config.ttlMs / 3,
      config.timers,
    ).catch(() => undefined);
    if (carried === undefined || isStoreOutage(carried)) return;
    await this.disownUnknown(core, carried.leases);
  }

  async #check(core: SessionCore, request: Acquire, { decision, since }: Attempt): Promise<void> {
    if (decision === 'wanted' || since === undefined) return;
    const checkedAt = momentOf(core.config.clock);
    const inspection = await inspect(core, request.key);
    if (inspection === undefined) return;
    const { record, waiting } = inspection;
    const open = record?.attempt === request.attempt && record.end === undefined;
    if (open && record.fence !== decision) {
      const { key, session } = request;
      const cause = 'the response to its acquire was lost, and the caller had given up';
      this.addTerm({ key, fence: record.fence, session, exit: 'abandoned', cause });
    }
    const mayWait = decision === 'given-up' && request.wait === true && waiting > 0;
    if (mayWait && !(await withdraw(core, request))) return;
    if (elapsedMs(since, checkedAt) >= WATCHED_MS) this.#attempts.delete(request);
  }
}

/** Returns true if the store replied. */
async function withdraw(core: SessionCore, { key, attempt }: Acquire): Promise<boolean> {
  const result = await core
    .call('withdraw', { key, call: () => core.leases.withdraw({ key, attempt }) })
    .catch(() => undefined);
  return result !== undefined && !isStoreOutage(result);
}

/** Returns true if the store gave a final reply. */
async function release(core: SessionCore, request: ReleaseLease): Promise<boolean> {
  const { key, fence } = request;
  const result = await core
    .call('release', { key, fence, call: () => core.leases.release(request) })
    .catch(() => undefined);
  return result !== undefined && !isStoreOutage(result) && isFinal(result);
}

/**
 * After a lapse or an expiry, the session may still carry the term: it may rejoin, or the store may
 * extend it after an outage (E-6). If the session ends instead, these calls stop too.
 */
export function isFinal(result: Released): boolean {
  return result.kind === 'released' || (result.why !== 'lapsed' && result.why !== 'expired');
}

/** Returns undefined if the store did not reply. */
async function inspect(core: SessionCore, key: LeaseKey): Promise<LeaseInspection | undefined> {
  const { ttlMs, timers } = core.config;
  const found = await callStore(
    async () => ({ kind: 'inspected', inspection: await core.leases.inspect(key) }) as const,
    ttlMs / 3,
    timers,
  ).catch(() => undefined);
  return found === undefined || isStoreOutage(found) ? undefined : found.inspection;
}
