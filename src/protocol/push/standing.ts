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
