// What would be held for ever by nobody, since its session lives and renews: terms whose release was
// not answered or met a lapse or an outage, and grants to attempts of which a try was not answered and
// which the store may still do, much later. The keeper looks after both beside its heartbeats (U-1).
//
// An attempt is `wanted` while its caller still asks: what it gets then is the caller's, and is not
// touched. Once it was `taken`, any other term of the same attempt is nobody's; once it was `given up`,
// every term of it is.

import { elapsedMs, type Moment, momentOf } from './authority.ts';
import type { Fence } from './fence.ts';
import type { Acquire, LeaseInspection, Release, Released } from './port.ts';
import type { SessionCore } from './session-core.ts';
import { callStore, isUnanswered } from './store-call.ts';

/** Longer than any store goes on with a request whose caller is gone. */
const WATCHED_MS = 60_000;

interface Watched {
  readonly since: Moment;
  readonly fate: 'wanted' | 'given-up' | Fence;
}

export class Disowned {
  readonly #attempts: Map<Acquire, Watched> = new Map();
  readonly #terms: Set<Release> = new Set();
  #settling: Promise<void> | undefined;

  /** A try of this attempt was not answered; its caller goes on asking. */
  watch(request: Acquire, since: Moment): void {
    this.#attempts.set(request, { since, fate: 'wanted' });
  }

  /** The caller has what it wanted, under this fence. */
  taken(request: Acquire, fence: Fence): void {
    this.#decide(request, fence);
  }

  /** The caller no longer wants it. */
  givenUp(request: Acquire): void {
    this.#decide(request, 'given-up');
  }

  /** A term to release as soon as that can be done. */
  addTerm(request: Release): void {
    this.#terms.add(request);
  }

  /** Beside whatever the caller does, one at a time: what hangs here holds up no heartbeat. */
  settle(core: SessionCore): Promise<void> {
    this.#settling ??= this.#settle(core).finally(() => {
      this.#settling = undefined;
    });
    return this.#settling;
  }

  #decide(request: Acquire, fate: Watched['fate']): void {
    const watched = this.#attempts.get(request);
    if (watched !== undefined) this.#attempts.set(request, { ...watched, fate });
  }

  /** Never rejects: what cannot be done now is tried with the next heartbeat. */
  async #settle(core: SessionCore): Promise<void> {
    const attempts = [...this.#attempts].map(([request, watched]) =>
      this.#lookAt(core, request, watched),
    );
    await Promise.all(attempts);
    const terms = [...this.#terms].map(async (request) => {
      if (await release(core, request)) this.#terms.delete(request);
    });
    await Promise.all(terms);
  }

  async #lookAt(core: SessionCore, request: Acquire, watched: Watched): Promise<void> {
    const { fate, since } = watched;
    if (fate === 'wanted') return;
    const { timers, ttlMs, clock } = core.config;
    const lookedAt = momentOf(clock);
    const found = await callStore(() => inspected(core, request), ttlMs / 3, timers).catch(
      () => undefined,
    );
    if (found === undefined || isUnanswered(found)) return;
    const { record } = found.inspection;
    const open = record?.attempt === request.attempt && record.end === undefined;
    if (open && record.fence !== fate) {
      const { key, session } = request;
      const cause = 'the answer to its acquire was lost and the caller had given up';
      this.addTerm({ key, fence: record.fence, session, exit: 'abandoned', cause });
    }
    if (elapsedMs(since, lookedAt) >= WATCHED_MS) this.#attempts.delete(request);
  }
}

/** True when it was answered for good. */
async function release(core: SessionCore, request: Release): Promise<boolean> {
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

async function inspected(
  core: SessionCore,
  request: Acquire,
): Promise<{ readonly kind: 'inspected'; readonly inspection: LeaseInspection }> {
  return { kind: 'inspected', inspection: await core.leases.inspect(request.key) };
}
