// Whether a main thread is wedged for good: it has shown no progress at several looks in a row, and
// authority has been over for as long as the grace. One look is not enough: after the whole process
// was frozen, its threads wake together, and the main one is given the chance to turn.

const LOOKS_MIN = 3;

export class Wedge {
  readonly #afterMs: number;
  #looks = 0;

  constructor(afterMs: number) {
    this.#afterMs = afterMs;
  }

  /** `overForMs`: for how long there has been no authority; undefined when there never was any. */
  look(isProved: boolean, overForMs: number | undefined): boolean {
    this.#looks = isProved ? 0 : this.#looks + 1;
    return this.#looks >= LOOKS_MIN && overForMs !== undefined && overForMs >= this.#afterMs;
  }
}
