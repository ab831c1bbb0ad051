// What would be held for ever by nobody, since its session lives and renews: terms whose release was
// not answered or met a lapse, and grants to attempts of which a try was not answered and which the
// store may still do, much later. The keeper looks after both with its heartbeats (U-1).

import { elapsedMs, type Moment, momentOf } from './authority.ts';
import type { Acquire, LeaseInspection, Release } from './port.ts';
import type { SessionCore } from './session-core.ts';
import { callStore, isUnanswered } from './store-call.ts';

/** Longer than any store goes on with a request whose caller is gone. */
const WATCHED_MS = 60_000;

export class Disowned {
  readonly #attempts: Map<Acquire, Moment> = new Map();
  readonly #terms: Set<Release> = new Set();

  add(request: Acquire, at: Moment): void {
    this.#attempts.set(request, at);
  }

  /** A term to release as soon as that can be done. */
  addTerm(request: Release): void {
    this.#terms.add(request);
  }

  /** Never throws: what cannot be done now is tried with the next heartbeat. */
  async settle(core: SessionCore): Promise<void> {
    for (const request of this.#terms) {
      if (await release(core, request)) this.#terms.delete(request);
    }
    for (const [request, since] of this.#attempts) {
      const left = elapsedMs(since, momentOf(core.config.clock)) < WATCHED_MS;
      if ((await this.#settleOne(core, request)) || !left) this.#attempts.delete(request);
    }
  }

  /** True when it was found and given back. */
  async #settleOne(core: SessionCore, request: Acquire): Promise<boolean> {
    const { key, attempt, session } = request;
    const { timers, ttlMs } = core.config;
    const found = await callStore(() => inspected(core, request), ttlMs / 3, timers).catch(
      () => undefined,
    );
    if (found === undefined || isUnanswered(found)) return false;
    const { record } = found.inspection;
    if (record?.attempt !== attempt || record.end !== undefined) return false;
    const { fence } = record;
    if (core.handles.get(key)?.fence === fence) return false;
    const cause = 'the answer to its acquire was lost and the caller had given up';
    return release(core, { key, fence, session, exit: 'abandoned', cause });
  }
}

/** True when it was answered for good. */
async function release(core: SessionCore, request: Release): Promise<boolean> {
  const { key, fence } = request;
  const answer = await core
    .call('release', { key, fence, call: () => core.leases.release(request) })
    .catch(() => undefined);
  if (answer === undefined || isUnanswered(answer)) return false;
  return answer.kind === 'released' || answer.why !== 'lapsed';
}

async function inspected(
  core: SessionCore,
  request: Acquire,
): Promise<{ readonly kind: 'inspected'; readonly inspection: LeaseInspection }> {
  return { kind: 'inspected', inspection: await core.leases.inspect(request.key) };
}
