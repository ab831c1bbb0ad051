// The port that wakes waiting workers, separate from the transport of messages and from their
// content. A wakeup names at most projects, so a lost, doubled or delayed one costs at most a poll
// (M-11, ADR 0034).

import type { ProjectName } from './names.ts';

/** The projects that a wakeup concerns. Undefined: any project. */
export type WokenProjects = ReadonlySet<ProjectName> | undefined;

export interface Wakeups {
  /**
   * Calls the listener when an execution may have become ready or may have ended. A wakeup may be
   * lost, late or wrong.
   */
  onWakeup(listener: (projects?: WokenProjects) => void): () => void;
}
