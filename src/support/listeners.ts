/** A set of listeners. If one throws, the others are still called, and nothing is undone (O-4). */
export class Listeners<Told extends readonly unknown[]> extends Set<(...told: Told) => void> {
  /** Returns the function that stops listening. */
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
        // The caller does not depend on its listeners.
      }
    }
  }
}
