// How many long polls and streams are held open, over HTTP and gRPC together, and by whom: neither a key nor a
// project has more than its share, so that one does not take all.

import { type Caller, ProblemReply } from '../protocol/rest/route.ts';

const KEY_SHARES = 4;
/** Admins of a project make as many keys as they like. */
const PROJECT_SHARES = 2;

export class Held {
  readonly #max: number;
  readonly #onChange: (count: number) => void;
  readonly #byHolder: Map<string, number> = new Map();
  #count = 0;

  constructor(max: number, onChange: (count: number) => void) {
    this.#max = max;
    this.#onChange = onChange;
  }

  /** Throws where there are too many. What it returns lets go, once. */
  hold({ key, project, isOfAll }: Caller): () => void {
    if (this.#count >= this.#max) {
      throw tooMany(
        `This coordinator holds ${this.#max} requests open, which is its limit. Ask again later, or without waitMs.`,
      );
    }
    // Without keys there is one user; keys of all projects are the operator's.
    const holders: string[] = [];
    if (key !== undefined) holders.push(this.#withinShare(`Key ${key}`, 'key', KEY_SHARES));
    if (key !== undefined && !isOfAll) {
      holders.push(this.#withinShare(`Project "${project}"`, 'project', PROJECT_SHARES));
    }
    this.#change(holders, 1);
    let isHeld = true;
    return () => {
      if (isHeld) this.#change(holders, -1);
      isHeld = false;
    };
  }

  #withinShare(holder: string, kind: string, shares: number): string {
    const share = Math.ceil(this.#max / shares);
    if ((this.#byHolder.get(holder) ?? 0) < share) return holder;
    throw tooMany(
      `${holder} holds ${share} requests open here, which is the share of one ${kind}. Ask again later, or without waitMs.`,
    );
  }

  #change(holders: readonly string[], by: number): void {
    for (const holder of holders) {
      const now = (this.#byHolder.get(holder) ?? 0) + by;
      if (now === 0) this.#byHolder.delete(holder);
      else this.#byHolder.set(holder, now);
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
