/** Those that are told of something. What one of them throws is its own: the others are told, and nothing is undone (O-4). */
export class Listeners<Told extends readonly unknown[]> extends Set<(...told: Told) => void> {
  /** Returns how to stop. */
  listen(listener: (...told: Told) => void): () => void {
    this.add(listener);
    return () => {
      this.delete(listener);
    };
  }

  call(...told: Told): void {
    for (const listener of this) {
      try {
        listener(...told);
      } catch {
        // Telling is a courtesy.
      }
    }
  }
}
