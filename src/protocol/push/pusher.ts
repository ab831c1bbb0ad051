// REST push: the coordinator claims on behalf of an endpoint, calls it, and writes its result.
// Every call has a session of its own. After a failed call, the coordinator gives the claim back
// under its fence, so the store refuses late writes of that call. If the give-back is refused, the
// coordinator ends the session, and the claim is lost like that of a dead worker (M-8, M-26).

import { openSession, type Session } from '../../lease/live-session.ts';
import type { Claimed } from '../../store/contract/execution-store.ts';
import type { Code } from '../../support/codes/catalogue.ts';
import { type ByteTurns, weightOfParsing } from '../../support/turns.ts';
import { type Caller, type Coordinator, projectShare, weightOf } from '../rest/route.ts';
import { metadataOf } from '../rest/work-writes.ts';
import {
  callOnce,
  charsIn,
  claimOne,
  commandFor,
  drivenBy,
  type EndpointCommand,
  failedCallsIn,
  givenBack,
  newNonce,
  type Posted,
} from './call-endpoint.ts';
import { probedFrom, resultFrom, type Written, writeResult } from './call-reply.ts';
import type { Endpoint, PushSettings } from './push-options.ts';
import { Circuit, Standing } from './standing.ts';

export interface PusherParts {
  readonly coordinator: Coordinator;
  readonly settings: PushSettings;
  readonly endpoint: Endpoint;
  readonly bytesMax: number;
  /** The large responses that arrive or wait to be handled, by project. */
  readonly responses: ByteTurns;
  readonly stopping: AbortSignal;
  readonly onFault: (code: Code, error: unknown) => void;
}

/** The outcome of a call. */
type Settled = Written | { readonly kind: 'denied'; readonly why: string };

const POLL_MS = 1_000;
const AT_ONCE = 16;
const PROBE_MS_MAX = 10_000;
const CLAIM_WEIGHT = weightOf({ name: 'claimExecutions' });

export class Pusher {
  readonly #parts: PusherParts;
  readonly #caller: Caller;
  readonly #circuit: Circuit;
  readonly #standing: Standing;
  readonly #sessions: Set<Session> = new Set();
  readonly #idle: Session[] = [];
  readonly #underWay: Set<Promise<void>> = new Set();
  readonly #unlisten: () => void;
  readonly #running: Promise<void>;
  readonly #startedAt: number;
  #wake: () => void = () => undefined;
  #isNotified = false;
  #isMissed = false;

  constructor(parts: PusherParts) {
    this.#parts = parts;
    const { endpoint, settings, coordinator, stopping } = parts;
    this.#startedAt = coordinator.clock.monotonicMs();
    this.#circuit = new Circuit(settings.circuit);
    this.#standing = new Standing({ ...parts, probeMs: settings.probeMs });
    this.#caller = {
      name: `endpoint ${endpoint.url.host}`,
      project: endpoint.project,
      isOfAll: false,
      roles: new Set(['work']),
    };
    this.#unlisten = coordinator.store.executions.onWakeup((projects) => {
      if (projects?.has(endpoint.project) !== false) this.#onWakeup();
    });
    stopping.addEventListener('abort', () => this.#onWakeup(), { once: true });
    this.#running = this.#run();
  }

  get circuit(): { readonly host: string; readonly isOpen: boolean } {
    const { endpoint, coordinator } = this.#parts;
    const isOpen = this.#circuit.opensInMs(coordinator.clock.monotonicMs()) > 0;
    return { host: endpoint.url.host, isOpen };
  }

  /** Abandons the calls in progress. Other workers can claim their executions at once. */
  async close(): Promise<void> {
    this.#unlisten();
    await this.#running;
    await Promise.all(this.#underWay);
    await Promise.all([...this.#sessions].map((each) => each.close()));
  }

  #onWakeup(): void {
    this.#isNotified = true;
    this.#wake();
  }

  async #run(): Promise<void> {
    const { stopping, onFault } = this.#parts;
    while (!stopping.aborted) {
      this.#isNotified = false;
      try {
        await this.#prove();
        while (await this.#pushSome());
      } catch (fault) {
        onFault('push-not-claimed', fault);
      }
      if (!stopping.aborted && !this.#isNotified) await this.#rest();
    }
  }

  /** Probes an endpoint that was silent, and announces one that responded. */
  async #prove(): Promise<void> {
    const { clock } = this.#parts.coordinator;
    const standing = this.#standing;
    if (standing.isToBeProbed(clock.monotonicMs())) await this.#probe();
    if (standing.isToBeProbed(clock.monotonicMs())) return;
    if (!standing.isToBeAnnounced(clock.monotonicMs())) return;
    // An idle endpoint needs a session too, to appear as a worker.
    if (this.#sessions.size === 0) this.#idle.push(await this.#session());
    await standing.announceAll(this.#sessions, new Set(this.#idle));
  }

  async #probe(): Promise<void> {
    const { coordinator, endpoint, stopping, onFault } = this.#parts;
    const { clock } = coordinator;
    if (this.#circuit.room(clock.monotonicMs(), 1) <= 0) return;
    this.#circuit.enter();
    const nonce = newNonce();
    const timeoutMs = Math.min(PROBE_MS_MAX, endpoint.timeoutMs);
    const probed = await this.#post({ kind: 'probe', nonce }, timeoutMs, (posted) =>
      posted.kind === 'answered'
        ? probedFrom(endpoint.signer, posted.text, { nonce, nowMs: clock.wallMs() })
        : ({ kind: 'unknown', why: posted.why } as const),
    );
    if (stopping.aborted) return;
    const now = clock.monotonicMs();
    if (probed.kind === 'unknown') {
      this.#circuit.failed(now);
      // Report it once, because the probe repeats.
      if (!this.#isMissed)
        onFault('push-not-there', new Error(`${this.#caller.name}: ${probed.why}`));
      this.#isMissed = true;
      return;
    }
    this.#isMissed = false;
    this.#circuit.returned();
    this.#standing.onProbe(probed.result, now);
  }

  #rest(): Promise<void> {
    const { timers, clock } = this.#parts.coordinator;
    const now = clock.monotonicMs();
    const opensMs = this.#circuit.opensInMs(now);
    const dueMs = opensMs === 0 ? this.#standing.dueInMs(now) : opensMs;
    return new Promise((resolve) => {
      const cancel = timers.after(Math.min(dueMs, POLL_MS), resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }

  /** If one is ready, more may be: claim the rest concurrently. */
  async #pushSome(): Promise<boolean> {
    if (!(await this.#pushOne())) return false;
    const more = Math.min(AT_ONCE, this.#parts.endpoint.capacity - this.#underWay.size);
    const claims = Array.from({ length: Math.max(0, more) }, () => this.#pushOne());
    return (await Promise.all(claims)).every((isPushed) => isPushed) && more > 0;
  }

  /** False when no slot is free, or nothing is ready. */
  async #pushOne(): Promise<boolean> {
    const { coordinator, endpoint, stopping } = this.#parts;
    const free = endpoint.capacity - this.#underWay.size;
    // Do not even claim while the circuit is open, because a denial is not a failure.
    const room = this.#circuit.room(coordinator.clock.monotonicMs(), free);
    if (room <= 0 || stopping.aborted || !this.#standing.isKnown) return false;
    await coordinator.shares.begin(projectShare(endpoint.project), CLAIM_WEIGHT);
    const session = await this.#session();
    const claimed = await claimOne(coordinator, {
      ...{ session: session.id, project: endpoint.project },
      // Sessions of calls are young, but the coordinator's own age counts.
      livedMs: Math.floor(coordinator.clock.monotonicMs() - this.#startedAt),
      ...this.#standing.claimFor,
    });
    if (claimed === undefined) {
      this.#idle.push(session);
      return false;
    }
    this.#circuit.enter();
    const pushed = this.#push(session, claimed).finally(() => {
      this.#underWay.delete(pushed);
      this.#onWakeup();
    });
    this.#underWay.add(pushed);
    return true;
  }

  async #session(): Promise<Session> {
    const { coordinator, endpoint } = this.#parts;
    for (let each = this.#idle.pop(); each !== undefined; each = this.#idle.pop()) {
      if (!each.signal.aborted) return each;
      this.#sessions.delete(each);
    }
    const { store, clock, timers } = coordinator;
    const metadata = metadataOf(this.#caller, endpoint);
    const opened = await openSession({ store, owner: this.#caller.name, metadata, clock, timers });
    this.#sessions.add(opened);
    await this.#standing.announce(opened, true);
    return opened;
  }

  /** Ends the session. Its claims are lost, and other workers can take them at once. */
  async #drop(session: Session): Promise<void> {
    this.#sessions.delete(session);
    await session.close('failed');
  }

  async #push(session: Session, claimed: Claimed): Promise<void> {
    const { coordinator, endpoint, onFault } = this.#parts;
    const { timeoutMs: deadlineInMs } = endpoint;
    const call = { claimed, session: session.id, owner: session.owner, deadlineInMs };
    let failed = 0;
    let settled: Settled;
    try {
      const drive = await drivenBy(coordinator.store.executions, call);
      failed = failedCallsIn(drive.history);
      // Writing and signing a large call blocks the event loop, as parsing does.
      const share = projectShare(endpoint.project);
      await coordinator.shares.begin(share, weightOfParsing(charsIn(drive)));
      settled = await this.#post({ kind: 'drive', drive }, deadlineInMs, (posted) =>
        this.#settle(session, claimed, posted),
      );
    } catch (fault) {
      onFault('push-not-settled', fault);
      this.#circuit.returned();
      settled = { kind: 'failed', why: 'the coordinator could not call it or write its result' };
    }
    const isLeft =
      settled.kind === 'over' || (await this.#leave({ session, claimed, settled, failed }));
    // After a failed call, the handler may still act in this session, so do not reuse it.
    if (isLeft && settled.kind !== 'failed') this.#idle.push(session);
    else await this.#drop(session);
  }

  /** A large response keeps its room until it is handled. */
  async #post<Result>(
    command: EndpointCommand,
    timeoutMs: number,
    handle: (posted: Posted) => Result | Promise<Result>,
  ): Promise<Result> {
    const { coordinator, endpoint, settings, bytesMax, responses, stopping } = this.#parts;
    const { url } = endpoint;
    const at = coordinator.clock.wallMs();
    const text = commandFor(endpoint, command, { at, until: at + timeoutMs });
    const { allowed } = settings;
    const { timers, shares } = coordinator;
    const share = projectShare(endpoint.project);
    let taken: Promise<() => void> | undefined;
    const room = async (): Promise<void> => {
      taken = responses.take(share, bytesMax);
      await taken;
    };
    try {
      const posted = await callOnce({
        ...{ url, text, timeoutMs, bytesMax, room, allowed, timers, signal: stopping },
      });
      // Parsing a large reply blocks the event loop, so it takes a share of the project.
      const weight = posted.kind === 'answered' ? weightOfParsing(posted.text.length) : 0;
      if (weight > 0) await shares.begin(share, weight);
      return await handle(posted);
    } finally {
      void taken?.then((free) => free());
    }
  }

  async #settle(session: Session, claimed: Claimed, posted: Posted): Promise<Settled> {
    const { coordinator, endpoint, onFault } = this.#parts;
    const now = coordinator.clock.monotonicMs();
    if (posted.kind === 'denied') {
      this.#failed(now);
      return posted;
    }
    const nowMs = coordinator.clock.wallMs();
    const result =
      posted.kind === 'answered'
        ? resultFrom(endpoint.signer, posted.text, { claimed, nowMs })
        : posted;
    if (result.kind === 'unknown') {
      this.#failed(now);
      onFault('push-unknown', new Error(`${this.#caller.name}: ${result.why}`));
      return { kind: 'failed', why: result.why };
    }
    this.#circuit.succeeded();
    this.#standing.onReply(now);
    const { denied } = result.result;
    if (denied !== undefined) {
      this.#standing.forgetProbe();
      return { kind: 'denied', why: denied };
    }
    const caller = this.#caller;
    return writeResult(coordinator, caller, { ...result.result, session, claimed });
  }

  /** After an open circuit, probe the endpoint before claiming for it. */
  #failed(nowMs: number): void {
    this.#circuit.failed(nowMs);
    if (this.#circuit.opensInMs(nowMs) > 0) this.#standing.forgetProbe();
  }

  /** Gives the claim back if possible, so that it does not count as a claim without progress. */
  async #leave(call: {
    readonly session: Session;
    readonly claimed: Claimed;
    readonly settled: Exclude<Settled, { readonly kind: 'over' }>;
    readonly failed: number;
  }): Promise<boolean> {
    const { coordinator, stopping, onFault } = this.#parts;
    const { session, settled, failed } = call;
    const { execution, fence } = settled.kind === 'unread' ? settled.claimed : call.claimed;
    const { id, seq, compensable } = execution;
    const failure = stopping.aborted ? 'stopping' : 'failed';
    const kind = settled.kind === 'failed' ? failure : 'denied';
    const unended = { kind, by: this.#caller.name, reason: settled.why } as const;
    const { body, delayMs } = givenBack(unended, failed);
    try {
      const result = await coordinator.store.executions.giveBack({
        ...{ id, fence, session: session.id, seq: seq + 1, delayMs },
        events: [{ kind: 'given-back', body }],
        ...(compensable ? { compensable } : {}),
      });
      return result.kind === 'given-back';
    } catch (fault) {
      onFault('push-not-settled', fault);
      return false;
    }
  }
}
