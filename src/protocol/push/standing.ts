// Tracks an endpoint: its announced pipelines and release, and whether it responds. After a silence
// the coordinator probes it, on the same path as calls. It announces the result for the sessions of
// its calls. So an endpoint that stops responding shows up like any worker that takes nothing
// (RE-11).

import { ownNamesFor } from '../../engine/worker/own-pipelines.ts';
import type { PipelineName, ProjectName } from '../../execution/names.ts';
import {
  type AnnouncedRelease,
  type Announcement,
  describeReleaseRefusal,
} from '../../features/releases/model.ts';
import { noteAnnounced } from '../../features/releases/routes.ts';
import type { Session } from '../../lease/live-session.ts';
import type { Code } from '../../support/codes/catalogue.ts';
import type { PushResult } from '../messages/push.ts';
import type { Coordinator } from '../rest/route.ts';
import type { Endpoint } from './push-options.ts';

export interface StandingParts {
  readonly coordinator: Coordinator;
  readonly endpoint: Endpoint;
  readonly probeMs: number;
  readonly onFault: (code: Code, error: unknown) => void;
}

export class Standing {
  readonly #parts: StandingParts;
  #release: AnnouncedRelease | undefined;
  #pipelines: readonly PipelineName[] | undefined;
  #repliedAt = Number.NEGATIVE_INFINITY;
  #announcedAt = Number.NEGATIVE_INFINITY;
  #reportedReason: string | undefined;

  constructor(parts: StandingParts) {
    this.#parts = parts;
  }

  /** The pipelines to claim for it; empty before its first response. */
  get claimFor(): { readonly pipelines: readonly PipelineName[]; readonly release?: string } {
    const pipelines = this.#pipelines ?? [];
    return { pipelines, ...(this.#release === undefined ? {} : { release: this.#release.name }) };
  }

  /** True if there is something to claim for it. */
  get isKnown(): boolean {
    return this.#repliedAt > Number.NEGATIVE_INFINITY && this.claimFor.pipelines.length > 0;
  }

  isToBeProbed(nowMs: number): boolean {
    return nowMs - this.#repliedAt >= this.#parts.probeMs;
  }

  isToBeAnnounced(nowMs: number): boolean {
    return this.#pipelines !== undefined && nowMs - this.#announcedAt >= this.#parts.probeMs;
  }

  /** The time until the next probe or announcement, if it has ever responded. */
  dueInMs(nowMs: number): number {
    if (!this.isKnown) return Infinity;
    return Math.max(1, Math.min(this.#repliedAt, this.#announcedAt) + this.#parts.probeMs - nowMs);
  }

  /** The endpoint responded to a call. */
  onReply(nowMs: number): void {
    this.#repliedAt = nowMs;
  }

  /** Its pipelines or release may have changed. */
  forgetProbe(): void {
    this.#repliedAt = Number.NEGATIVE_INFINITY;
  }

  /**
   * Takes the endpoint's own list. Keeps the configured pipelines and those that the engine adds to
   * them.
   */
  onProbe({ pipelines, release }: Pick<PushResult, 'pipelines' | 'release'>, nowMs: number): void {
    const { endpoint } = this.#parts;
    const added = endpoint.pipelines.flatMap((each) => ownNamesFor(each, release?.name));
    const wanted = pipelines === undefined ? endpoint.pipelines : [...endpoint.pipelines, ...added];
    this.#pipelines = wanted.filter((each) => pipelines?.includes(each) ?? true);
    this.#release = release;
    this.#repliedAt = nowMs;
    this.#announcedAt = Number.NEGATIVE_INFINITY;
  }

  /** Announces all its sessions; those in `free` have room. */
  async announceAll(sessions: Iterable<Session>, free: ReadonlySet<Session>): Promise<void> {
    this.#announcedAt = this.#parts.coordinator.clock.monotonicMs();
    await Promise.all([...sessions].map((each) => this.announce(each, free.has(each))));
  }

  /** A claim of a pinned execution needs a session that announced the release (RE-9). */
  async announce({ id: session }: Session, isFree: boolean): Promise<void> {
    const { coordinator, endpoint, probeMs } = this.#parts;
    const pipelines = (this.#pipelines ?? []).filter((each) => endpoint.pipelines.includes(each));
    const announcement: Announcement & { readonly project: ProjectName } = {
      ...{ session, project: endpoint.project, pipelines, state: 'ready', everyMs: probeMs },
      room: isFree ? 1 : 0,
      ...(this.#release === undefined ? {} : { release: this.#release }),
    };
    const result = await coordinator.store.executions.announce(announcement);
    noteAnnounced(coordinator.store, announcement, result);
    const isRefused = result.kind === 'refused' && result.why !== 'session-not-live';
    this.#reportOnce(isRefused ? describeReleaseRefusal(result) : undefined);
  }

  /** Reports each reason once. */
  #reportOnce(why: string | undefined): void {
    const { onFault, endpoint } = this.#parts;
    if (why !== undefined && why !== this.#reportedReason) {
      onFault('push-release-refused', new Error(`endpoint ${endpoint.url.host}: ${why}`));
    }
    this.#reportedReason = why;
  }
}

// A circuit breaker. It stops calls to an endpoint that does not respond, and later tries one
// request at a time. Only a call with a response closes it, because probes may pass where calls
// fail. A call that the breaker stops counts as denied, not as failed (M-29).

interface EndpointCircuit {
  /** This many failures in a row open the circuit. */
  readonly failuresMax: number;
  readonly cooldownMs: number;
}

export class Circuit {
  readonly #options: EndpointCircuit;
  #failures = 0;
  #openUntilMs = 0;
  #isProbing = false;

  constructor(options: EndpointCircuit) {
    this.#options = options;
  }

  /** The number of calls that may start now. */
  room(nowMs: number, wanted: number): number {
    if (this.#failures < this.#options.failuresMax) return wanted;
    if (nowMs < this.#openUntilMs || this.#isProbing) return 0;
    return Math.min(1, wanted);
  }

  /** One call starts. */
  enter(): void {
    if (this.#failures >= this.#options.failuresMax) this.#isProbing = true;
  }

  /** A request finished that proves nothing about calls, such as a probe with a response. */
  returned(): void {
    this.#isProbing = false;
  }

  /** The endpoint responded to a call, with any result. */
  succeeded(): void {
    this.#failures = 0;
    this.#isProbing = false;
  }

  /** The endpoint did not respond, or its response was not valid. */
  failed(nowMs: number): void {
    this.#failures += 1;
    this.#isProbing = false;
    this.#openUntilMs = nowMs + this.#options.cooldownMs;
  }

  /** The time until the circuit lets a call through; zero if it does now. */
  opensInMs(nowMs: number): number {
    if (this.#failures < this.#options.failuresMax) return 0;
    return Math.max(0, this.#openUntilMs - nowMs);
  }
}
