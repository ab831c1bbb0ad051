// A session that lives and renews keeps every term and every place in line that the store has of it, also
// those that no caller knows of: terms whose release was not answered, met a lapse or was taken back by a
// failover, and whatever an attempt gets of which a try was not answered, perhaps much later. The keeper
// gives them back beside its heartbeats (U-1).
//
// An attempt is `wanted` while its caller asks: what it gets is the caller's. Once it was `taken`, any
// other term of it is disowned; once it was `given-up`, every term of it is, and its place in line.

import { elapsedMs, type Moment, momentOf } from './authority.ts';
import type { Fence } from './fence.ts';
import type { LeaseKey } from './names.ts';
import type { Acquire, CarriedLease, LeaseInspection, Released, ReleaseLease } from './port.ts';
import type { SessionCore } from './session-core.ts';
import { callStore, isUnanswered } from './store-call.ts';

/** Longer than any store goes on with a request whose caller is gone. */
const WATCHED_MS = 60_000;

interface Attempt {
  /** When a try was last not answered. Without one, nothing is left to watch once the fate is decided. */
  readonly since?: Moment;
  readonly fate: 'wanted' | 'given-up' | Fence;
}

export class Disowned {
  readonly #attempts: Map<Acquire, Attempt> = new Map();
  /** Terms that a caller has, lapsed ones and those being released among them. */
  readonly #owned: Set<Fence> = new Set();
  readonly #terms: Map<Fence, ReleaseLease> = new Map();
  #settling: Promise<void> | undefined;

  /** A caller begins to ask. */
  ask(request: Acquire): void {
    this.#attempts.set(request, { fate: 'wanted' });
  }

  /** A try of this attempt, or its withdrawal, was not answered. */
  watch(request: Acquire, since: Moment): void {
    const fate = this.#attempts.get(request)?.fate ?? 'wanted';
    this.#attempts.set(request, { since, fate });
  }

  /** The caller has what it wanted, under this fence. */
  taken(request: Acquire, fence: Fence): void {
    this.#owned.add(fence);
    this.#decide(request, fence);
  }

  /** The caller no longer wants it. */
  givenUp(request: Acquire): void {
    this.#decide(request, 'given-up');
  }

  /** A term to release as soon as that can be done. The exit that was declared first stays. */
  addTerm(request: ReleaseLease): void {
    if (!this.#terms.has(request.fence)) this.#terms.set(request.fence, request);
  }

  /** The store has answered that this term is over. */
  ended(fence: Fence): void {
    this.#owned.delete(fence);
    this.#terms.delete(fence);
  }

  /**
   * Gives back what the store says is carried and no caller has: a failover or a restore took back the
   * release (T-4). False when the store did not answer.
   */
  async disownUnknown(core: SessionCore, carried: readonly CarriedLease[]): Promise<boolean> {
    const unknown = carried.filter(({ fence }) => !this.#owned.has(fence));
    const known = await Promise.all(unknown.map((term) => this.#isUnderWay(core, term)));
    for (const [index, { key, fence }] of unknown.entries()) {
      if (known[index] !== false || this.#owned.has(fence)) continue;
      const cause = 'the store has forgotten that it was released';
      this.addTerm({ key, fence, session: core.id, exit: 'abandoned', cause });
    }
    return !known.includes(undefined);
  }

  /** Beside whatever the caller does, one at a time: what hangs here holds up no heartbeat. */
  settle(core: SessionCore): Promise<void> {
    this.#settling ??= this.#settle(core).finally(() => {
      this.#settling = undefined;
    });
    return this.#settling;
  }

  #decide(request: Acquire, fate: Attempt['fate']): void {
    const since = this.#attempts.get(request)?.since;
    if (since === undefined) this.#attempts.delete(request);
    else this.#attempts.set(request, { since, fate });
  }

  /** Whether an acquire is about to be answered with this term; undefined when that is not known. */
  async #isUnderWay(core: SessionCore, { key, fence }: CarriedLease): Promise<boolean | undefined> {
    const asking = [...this.#attempts]
      .filter(([request, { fate }]) => fate === 'wanted' && request.key === key)
      .map(([{ attempt }]) => attempt);
    if (asking.length === 0) return false;
    const inspection = await inspect(core, key);
    if (inspection === undefined) return undefined;
    const { record } = inspection;
    return record !== undefined && record.fence === fence && asking.includes(record.attempt);
  }

  /** Never rejects: what cannot be done now is tried with the next heartbeat. */
  async #settle(core: SessionCore): Promise<void> {
    const attempts = [...this.#attempts].map(([request, attempt]) =>
      this.#lookAt(core, request, attempt),
    );
    await Promise.all(attempts);
    const terms = [...this.#terms.values()].map(async (request) => {
      if (await release(core, request)) this.ended(request.fence);
    });
    await Promise.all(terms);
  }

  async #lookAt(core: SessionCore, request: Acquire, { fate, since }: Attempt): Promise<void> {
    if (fate === 'wanted' || since === undefined) return;
    const lookedAt = momentOf(core.config.clock);
    const inspection = await inspect(core, request.key);
    if (inspection === undefined) return;
    const { record, waiting } = inspection;
    const open = record?.attempt === request.attempt && record.end === undefined;
    if (open && record.fence !== fate) {
      const { key, session } = request;
      const cause = 'the answer to its acquire was lost and the caller had given up';
      this.addTerm({ key, fence: record.fence, session, exit: 'abandoned', cause });
    }
    const mayWait = fate === 'given-up' && request.wait === true && waiting > 0;
    if (mayWait && !(await withdraw(core, request))) return;
    if (elapsedMs(since, lookedAt) >= WATCHED_MS) this.#attempts.delete(request);
  }
}

/** True when it was answered. */
async function withdraw(core: SessionCore, { key, attempt }: Acquire): Promise<boolean> {
  const answer = await core
    .call('withdraw', { key, call: () => core.leases.withdraw({ key, attempt }) })
    .catch(() => undefined);
  return answer !== undefined && !isUnanswered(answer);
}

/** True when it was answered for good. */
async function release(core: SessionCore, request: ReleaseLease): Promise<boolean> {
  const { key, fence } = request;
  const answer = await core
    .call('release', { key, fence, call: () => core.leases.release(request) })
    .catch(() => undefined);
  return answer !== undefined && !isUnanswered(answer) && isFinal(answer);
}

/**
 * What met a lapse or an expiry is carried on if the session is: it may rejoin, and after an outage the
 * store may give it more time (E-6). If it is not, nobody asks any more.
 */
export function isFinal(answer: Released): boolean {
  return answer.kind === 'released' || (answer.why !== 'lapsed' && answer.why !== 'expired');
}

/** Undefined when the store did not answer. */
async function inspect(core: SessionCore, key: LeaseKey): Promise<LeaseInspection | undefined> {
  const { ttlMs, timers } = core.config;
  const found = await callStore(
    async () => ({ kind: 'inspected', inspection: await core.leases.inspect(key) }) as const,
    ttlMs / 3,
    timers,
  ).catch(() => undefined);
  return found === undefined || isUnanswered(found) ? undefined : found.inspection;
}
