// How many long polls and streams are held open, over HTTP and gRPC together, and by whom: no key has more than a
// share of them, so that one does not take all.

import { type Caller, ProblemReply } from '../protocol/rest/route.ts';

const SHARES = 4;

export class Held {
  readonly #max: number;
  readonly #onChange: (count: number) => void;
  readonly #byKey: Map<string, number> = new Map();
  #count = 0;

  constructor(max: number, onChange: (count: number) => void) {
    this.#max = max;
    this.#onChange = onChange;
  }

  /** Throws where there are too many. What it returns lets go, once. */
  hold({ key }: Caller): () => void {
    if (this.#count >= this.#max) {
      throw tooMany(
        `This coordinator holds ${this.#max} requests open, which is its limit. Ask again later, or without waitMs.`,
      );
    }
    const share = Math.ceil(this.#max / SHARES);
    if (key !== undefined && (this.#byKey.get(key) ?? 0) >= share) {
      throw tooMany(
        `Key ${key} holds ${share} requests open here, which is the share of one key. Ask again later, or without waitMs.`,
      );
    }
    this.#change(key, 1);
    let isHeld = true;
    return () => {
      if (isHeld) this.#change(key, -1);
      isHeld = false;
    };
  }

  #change(key: string | undefined, by: number): void {
    if (key !== undefined) {
      const now = (this.#byKey.get(key) ?? 0) + by;
      if (now === 0) this.#byKey.delete(key);
      else this.#byKey.set(key, now);
    }
    this.#count += by;
    this.#onChange(this.#count);
  }
}

function tooMany(detail: string): ProblemReply {
  const reply = new ProblemReply(429, 'too-many-open', detail);
  reply.retryAfterS = 1;
  return reply;
}
