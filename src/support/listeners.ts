/** A set of listeners. If one throws, the others are still called, and nothing is undone (O-4). */
export class Listeners<Args extends readonly unknown[]> extends Set<(...args: Args) => void> {
  /** Returns the function that stops listening. */
  listen(listener: (...args: Args) => void): () => void {
    this.add(listener);
    return () => {
      this.delete(listener);
    };
  }

  call(...args: Args): void {
    for (const listener of this) {
      try {
        listener(...args);
      } catch {
        // The caller does not depend on its listeners.
      }
    }
  }
}
