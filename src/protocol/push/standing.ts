// What is known of an endpoint: what it says that it has, and that it answers. It is asked when nothing was heard of it
// for a while, on the path by which it is called; what it says is announced for the sessions of its calls, so that
// one that answers nobody is found as any worker that takes nothing is (RE-11).

import { ownNamesFor } from '../../engine/worker/own-pipelines.ts';
import type { PipelineName, ProjectName } from '../../execution/names.ts';
import {
  type AnnouncedRelease,
  type Announcement,
  describeReleaseRefusal,
} from '../../features/releases/model.ts';
import { noteAnnounced } from '../../features/releases/routes.ts';
import type { Session } from '../../lease/live-session.ts';
import type { PushResult } from '../messages/push.ts';
import type { Coordinator } from '../rest/route.ts';
import type { Endpoint } from './push-options.ts';

export interface StandingParts {
  readonly coordinator: Coordinator;
  readonly endpoint: Endpoint;
  readonly probeMs: number;
  readonly onFault: (code: string, error: unknown) => void;
}

export class Standing {
  readonly #parts: StandingParts;
  #release: AnnouncedRelease | undefined;
  #pipelines: readonly PipelineName[] | undefined;
  #heardAt = Number.NEGATIVE_INFINITY;
  #saidAt = Number.NEGATIVE_INFINITY;
  #complained: string | undefined;

  constructor(parts: StandingParts) {
    this.#parts = parts;
  }

  /** What is claimed for it: nothing before it was heard of. */
  get asks(): { readonly pipelines: readonly PipelineName[]; readonly release?: string } {
    const pipelines = this.#pipelines ?? [];
    return { pipelines, ...(this.#release === undefined ? {} : { release: this.#release.name }) };
  }

  /** There is something that can be claimed for it. */
  get isKnown(): boolean {
    return this.#heardAt > Number.NEGATIVE_INFINITY && this.asks.pipelines.length > 0;
  }

  isToBeAsked(nowMs: number): boolean {
    return nowMs - this.#heardAt >= this.#parts.probeMs;
  }

  isToBeSaid(nowMs: number): boolean {
    return this.#pipelines !== undefined && nowMs - this.#saidAt >= this.#parts.probeMs;
  }

  /** Until it is to be asked or said again, if it was heard of at all. */
  dueInMs(nowMs: number): number {
    if (!this.isKnown) return Infinity;
    return Math.max(1, Math.min(this.#heardAt, this.#saidAt) + this.#parts.probeMs - nowMs);
  }

  /** It has answered a call. */
  heard(nowMs: number): void {
    this.#heardAt = nowMs;
  }

  /** What it has may have changed. */
  doubt(): void {
    this.#heardAt = Number.NEGATIVE_INFINITY;
  }

  /** It has said what it has; of that, what it was configured for, and what the engine adds to it. */
  told({ pipelines, release }: Pick<PushResult, 'pipelines' | 'release'>, nowMs: number): void {
    const { endpoint } = this.#parts;
    const added = endpoint.pipelines.flatMap((each) => ownNamesFor(each, release?.name));
    const wanted = pipelines === undefined ? endpoint.pipelines : [...endpoint.pipelines, ...added];
    this.#pipelines = wanted.filter((each) => pipelines?.includes(each) ?? true);
    this.#release = release;
    this.#heardAt = nowMs;
    this.#saidAt = Number.NEGATIVE_INFINITY;
  }

  /** For all its sessions, of which so many are free. */
  async say(sessions: Iterable<Session>, free: ReadonlySet<Session>): Promise<void> {
    this.#saidAt = this.#parts.coordinator.clock.monotonicMs();
    await Promise.all([...sessions].map((each) => this.announce(each, free.has(each))));
  }

  /** RE-9: a claim of what is pinned is of a session that has announced its release. */
  async announce({ id: session }: Session, isFree: boolean): Promise<void> {
    const { coordinator, endpoint, probeMs } = this.#parts;
    const pipelines = (this.#pipelines ?? []).filter((each) => endpoint.pipelines.includes(each));
    const said: Announcement & { readonly project: ProjectName } = {
      ...{ session, project: endpoint.project, pipelines, state: 'ready', everyMs: probeMs },
      room: isFree ? 1 : 0,
      ...(this.#release === undefined ? {} : { release: this.#release }),
    };
    const answer = await coordinator.store.executions.announce(said);
    noteAnnounced(coordinator.store, said, answer);
    const isRefused = answer.kind === 'refused' && answer.why !== 'session-not-live';
    this.#complain(isRefused ? describeReleaseRefusal(answer) : undefined);
  }

  /** Once for each reason. */
  #complain(why: string | undefined): void {
    const { onFault, endpoint } = this.#parts;
    if (why !== undefined && why !== this.#complained) {
      onFault('push-release-refused', new Error(`endpoint ${endpoint.url.host}: ${why}`));
    }
    this.#complained = why;
  }
}

// A circuit breaker: an endpoint that does not answer is not called for a while, then by one request at a time.
// Only a call that is answered closes it: probes may pass where calls fail. Whoever is kept from calling was denied,
// and has not failed (M-29).

export interface CircuitOptions {
  /** So many failures in a row open it. */
  readonly failuresMax: number;
  readonly openMs: number;
}

export class Circuit {
  readonly #options: CircuitOptions;
  #failures = 0;
  #openUntilMs = 0;
  #isProbing = false;

  constructor(options: CircuitOptions) {
    this.#options = options;
  }

  /** How many may go now. */
  room(nowMs: number, wanted: number): number {
    if (this.#failures < this.#options.failuresMax) return wanted;
    if (nowMs < this.#openUntilMs || this.#isProbing) return 0;
    return Math.min(1, wanted);
  }

  /** One goes. */
  enter(): void {
    if (this.#failures >= this.#options.failuresMax) this.#isProbing = true;
  }

  /** What went is back and says nothing of calls, as a probe that was answered. */
  returned(): void {
    this.#isProbing = false;
  }

  /** It answered a call, whatever it said. */
  succeeded(): void {
    this.#failures = 0;
    this.#isProbing = false;
  }

  /** It did not answer, or not as one that is well. */
  failed(nowMs: number): void {
    this.#failures += 1;
    this.#isProbing = false;
    this.#openUntilMs = nowMs + this.#options.openMs;
  }

  /** Until it lets somebody through again; zero when it does. */
  opensInMs(nowMs: number): number {
    if (this.#failures < this.#options.failuresMax) return 0;
    return Math.max(0, this.#openUntilMs - nowMs);
  }
}
