// The port that wakes waiting workers, separate from the transport of messages and from their
// content. A wakeup names at most projects, so a lost, doubled or delayed one costs at most a poll
// (M-11, ADR 0034).

import type { ExecutionId, ProjectName } from './names.ts';

/** The projects that a wakeup concerns. Undefined: any project. */
export type WokenProjects = ReadonlySet<ProjectName> | undefined;

/** Listeners skip a wakeup whose cause does not concern them. */
export interface WakeupCause {
  /** The executions that ended. Undefined: any may have. */
  readonly ended: ReadonlySet<ExecutionId> | undefined;
  /** False if no execution can have become ready. */
  readonly mayBeReady: boolean;
}

export const SUBMITTED: WakeupCause = { ended: new Set(), mayBeReady: true };

export interface Wakeups {
  /**
   * Calls the listener when an execution may have become ready or may have ended. Without a cause,
   * it may be either. A wakeup may be lost, late or wrong.
   */
  onWakeup(listener: (projects?: WokenProjects, cause?: WakeupCause) => void): () => void;
}
