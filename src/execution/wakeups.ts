// The port that wakes waiting workers, separate from the transport of messages and from their
// content. A wakeup has no content, so a lost, doubled or delayed one costs at most a poll (M-11,
// ADR 0034).

export interface Wakeups {
  /**
   * Calls the listener when an execution may have become ready or may have ended. A wakeup may be
   * lost, late or wrong.
   */
  onWakeup(listener: () => void): () => void;
}
