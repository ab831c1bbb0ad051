// How many long polls and streams are held open, over HTTP and gRPC together, and by whom.

import { type Caller, ProblemReply } from '../protocol/rest/route.ts';

export class Held {
  readonly #max: number;
  readonly #onChange: (count: number) => void;
  #count = 0;

  constructor(max: number, onChange: (count: number) => void) {
    this.#max = max;
    this.#onChange = onChange;
  }

  /** Throws where there are too many. What it returns lets go, once. */
  hold(_caller: Caller): () => void {
    if (this.#count >= this.#max) {
      throw tooMany(
        `This coordinator holds ${this.#max} requests open, which is its limit. Ask again later, or without waitMs.`,
      );
    }
    this.#change(1);
    let isHeld = true;
    return () => {
      if (isHeld) this.#change(-1);
      isHeld = false;
    };
  }

  #change(by: number): void {
    this.#count += by;
    this.#onChange(this.#count);
  }
}

function tooMany(detail: string): ProblemReply {
  const reply = new ProblemReply(429, 'too-many-open', detail);
  reply.retryAfterS = 1;
  return reply;
}
