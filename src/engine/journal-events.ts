// What a journal tells the drive that it belongs to.

export interface JournalEvents {
  /** Another owner, or an ended session. */
  lost(reason: Error): void;
  /** The store can never take what it was given; the claim is still there. */
  rejected(fault: unknown): void;
  /** The inbox has messages up to this one. */
  news(news: number): void;
  /** A write is done: whoever waited for the journal may look again. */
  written(): void;
  /** A mistake of ours. */
  troubled(error: unknown): void;
}
