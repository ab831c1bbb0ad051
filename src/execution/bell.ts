// What wakes who waits for work: a port of its own, apart from what carries messages and from what is in them. A ring
// has nothing in it, so that losing, doubling or delaying one costs at most a poll (M-11, ADR 0034).

export interface Bell {
  /** Calls back when something may have become ready or may have ended. It may be lost, late or wrong. */
  onRing(listener: () => void): () => void;
}
