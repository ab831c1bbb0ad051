// A circuit breaker: an endpoint that does not answer is not called for a while, then by one request at a time.
// Only a call that is answered closes it: probes may pass where calls fail. Whoever is kept from calling was denied,
// and has not failed (M-29).

export interface CircuitOptions {
  /** So many failures in a row open it. */
  readonly failuresMax: number;
  readonly openMs: number;
}

export class Circuit {
  readonly #options: CircuitOptions;
  #failures = 0;
  #openUntilMs = 0;
  #isProbing = false;

  constructor(options: CircuitOptions) {
    this.#options = options;
  }

  /** How many may go now. */
  room(nowMs: number, wanted: number): number {
    if (this.#failures < this.#options.failuresMax) return wanted;
    if (nowMs < this.#openUntilMs || this.#isProbing) return 0;
    return Math.min(1, wanted);
  }

  /** One goes. */
  enter(): void {
    if (this.#failures >= this.#options.failuresMax) this.#isProbing = true;
  }

  /** What went is back and says nothing of calls, as a probe that was answered. */
  returned(): void {
    this.#isProbing = false;
  }

  /** It answered a call, whatever it said. */
  succeeded(): void {
    this.#failures = 0;
    this.#isProbing = false;
  }

  /** It did not answer, or not as one that is well. */
  failed(nowMs: number): void {
    this.#failures += 1;
    this.#isProbing = false;
    this.#openUntilMs = nowMs + this.#options.openMs;
  }

  /** Until it lets somebody through again; zero when it does. */
  opensInMs(nowMs: number): number {
    if (this.#failures < this.#options.failuresMax) return 0;
    return Math.max(0, this.#openUntilMs - nowMs);
  }
}
