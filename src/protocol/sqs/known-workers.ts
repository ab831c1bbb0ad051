// Whom to ring: workers that were heard of, each by its key and its queue. Who names the queue of another is one more
// beside it, and not in its place; and who names many is rung in the last ones only.

export interface KnownWorker {
  readonly kid: string;
  readonly replyTo: string;
}

/** Of a worker that has said nothing for so long nobody knows. */
const KNOWN_MS = 120_000;
/** Of one key. Those that were not heard of for longest poll. */
export const KNOWN_MAX = 1_000;

export class KnownWorkers {
  /** By key, and by queue, who was heard of last at the end. */
  readonly #heardAt: Map<string, Map<string, number>> = new Map();

  heard({ kid, replyTo }: KnownWorker, nowMs: number): void {
    const ofKey = this.#heardAt.get(kid) ?? new Map<string, number>();
    this.#heardAt.set(kid, ofKey);
    ofKey.delete(replyTo);
    ofKey.set(replyTo, nowMs);
    const [first] = ofKey.keys();
    if (ofKey.size > KNOWN_MAX && first !== undefined) ofKey.delete(first);
  }

  forget({ kid, replyTo }: KnownWorker): void {
    this.#heardAt.get(kid)?.delete(replyTo);
  }

  /** Those that were heard of lately. */
  all(nowMs: number): readonly KnownWorker[] {
    return [...this.#heardAt].flatMap(([kid, ofKey]) => {
      for (const [replyTo, at] of ofKey) if (nowMs - at > KNOWN_MS) ofKey.delete(replyTo);
      return [...ofKey.keys()].map((replyTo) => ({ kid, replyTo }));
    });
  }
}
