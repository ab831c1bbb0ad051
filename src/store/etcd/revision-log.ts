// When this process knew of which revision. Every answer of etcd says at which revision the store was;
// so by then everything up to that revision had been written. That is how long something has stood
// unchanged, counted by one clock only: no two clocks are compared.

interface Known {
  readonly revision: number;
  readonly tick: number;
}

/** Entries nearer to each other than this are not all kept. */
const RESOLUTION_MS = 50;
const ENTRIES_MAX = 2_048;

export class RevisionLog {
  #entries: Known[] = [];
  #newest = 0;

  /** The greatest revision heard of. */
  get newest(): number {
    return this.#newest;
  }

  /** Ticks must not go back. Leaving an entry out only makes later ones count for it. */
  note(revision: number, tick: number): void {
    if (revision <= this.#newest) return;
    this.#newest = revision;
    const entries = this.#entries;
    const last = entries.at(-1);
    const before = entries.at(-2);
    const isSameMoment = last !== undefined && last.tick === tick;
    const isCrowded = before !== undefined && tick - before.tick < RESOLUTION_MS;
    if (isSameMoment || isCrowded) entries.pop();
    entries.push({ revision, tick });
    if (entries.length > ENTRIES_MAX) this.#thinOut();
  }

  /** Another history begins: what was known of the last one says nothing about it. */
  clear(): void {
    this.#entries = [];
    this.#newest = 0;
  }

  /** Since when it has been known that this revision was written; undefined when it is not known. */
  knownSince(revision: number): number | undefined {
    let [low, high] = [0, this.#entries.length];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((this.#entries[middle]?.revision ?? 0) < revision) low = middle + 1;
      else high = middle;
    }
    return this.#entries[low]?.tick;
  }

  /** Every second entry of the older half goes. */
  #thinOut(): void {
    const half = ENTRIES_MAX / 2;
    this.#entries = this.#entries.filter((_, index) => index >= half || index % 2 === 1);
  }
}
