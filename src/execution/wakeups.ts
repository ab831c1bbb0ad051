// The port that wakes waiting workers, separate from the transport of messages and from their
// content. A wakeup names at most projects, so a lost, doubled or delayed one costs at most a poll
// (M-11, ADR 0034).

import type { ExecutionId, PipelineName, ProjectName } from './names.ts';

/** The projects that a wakeup concerns. Undefined: any project. */
export type WokenProjects = ReadonlySet<ProjectName> | undefined;

/** Listeners skip a wakeup whose cause does not concern them. */
export interface WakeupCause {
  /** The executions that ended. Undefined: any may have. */
  readonly ended: ReadonlySet<ExecutionId> | undefined;
  /** The pipelines of executions that may have become ready. Undefined: any. */
  readonly ready: ReadonlySet<PipelineName> | undefined;
}

/** The effects of a write, as far as it knows them. */
export interface KnownEffects {
  readonly ended?: readonly ExecutionId[];
  readonly ready?: readonly { readonly id: ExecutionId; readonly pipeline: PipelineName }[];
}

/** Collects the effects of several writes into the cause of one wakeup. */
export class WakeupCauses {
  #ended: Set<ExecutionId> | undefined = new Set();
  #ready: Map<ExecutionId, PipelineName> | undefined = new Map();

  add({ ended, ready }: KnownEffects = {}): void {
    if (ended === undefined) this.#ended = undefined;
    else for (const id of ended) this.#ended?.add(id);
    if (ready === undefined) this.#ready = undefined;
    else for (const { id, pipeline } of ready) this.#ready?.set(id, pipeline);
  }

  /** The transaction that made it ready has also claimed it, so it needs no other worker. */
  claimed(id: ExecutionId): void {
    this.#ready?.delete(id);
  }

  get cause(): WakeupCause {
    return { ended: this.#ended, ready: this.#ready && new Set(this.#ready.values()) };
  }
}

export interface Wakeups {
  /**
   * Calls the listener when an execution may have become ready or may have ended. Without a cause,
   * it may be either. A wakeup may be lost, late or wrong.
   */
  onWakeup(listener: (projects?: WokenProjects, cause?: WakeupCause) => void): () => void;
}
