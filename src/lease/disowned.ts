// Attempts of which a try was not answered. The store may still do it, much later, for a session that
// lives and renews, and the key would be held for ever by nobody. The keeper looks after them with its
// heartbeats: what such an attempt got and no handle stands for is released (U-1).

import { elapsedMs, type Moment, momentOf } from './authority.ts';
import type { Acquire, LeaseInspection } from './port.ts';
import type { SessionCore } from './session-core.ts';
import { callStore, isUnanswered } from './store-call.ts';

/** Longer than any store goes on with a request whose caller is gone. */
const WATCHED_MS = 60_000;

export class Disowned {
  readonly #attempts: Map<Acquire, Moment> = new Map();

  add(request: Acquire, at: Moment): void {
    this.#attempts.set(request, at);
  }

  /** Never throws: what cannot be looked at now is looked at with the next heartbeat. */
  async settle(core: SessionCore): Promise<void> {
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
    const released = await core
      .call('release', {
        key,
        fence,
        call: () => core.leases.release({ key, fence, session, exit: 'abandoned', cause }),
      })
      .catch(() => undefined);
    return released !== undefined && !isUnanswered(released);
  }
}

async function inspected(
  core: SessionCore,
  request: Acquire,
): Promise<{ readonly kind: 'inspected'; readonly inspection: LeaseInspection }> {
  return { kind: 'inspected', inspection: await core.leases.inspect(request.key) };
}
