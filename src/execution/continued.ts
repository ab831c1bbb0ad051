// Following an execution to what it was continued as, and on. Who goes on as whom is what workers say.

import { Fault } from '../support/fault.ts';
import type { ExecutionId } from './names.ts';

/**
 * There may be any number of them and nothing is kept of each: what comes round meets a mark that is set again
 * after twice as many steps as before (Brent).
 */
export class Continuations {
  readonly #first: ExecutionId;
  #mark: ExecutionId;
  #stride = 1;
  #left = 1;

  constructor(first: ExecutionId) {
    this.#first = first;
    this.#mark = first;
  }

  /** Throws when it was there before: then there is no end to wait for. */
  step(to: ExecutionId): ExecutionId {
    if (to === this.#mark) {
      throw new Fault(
        'continued-in-circle',
        `Execution ${this.#first} has no result: what it was continued as comes round to ${to} again. A worker that is not Holdfast's own wrote that. Look at the history of both, and submit the work again.`,
      );
    }
    this.#left -= 1;
    if (this.#left === 0) {
      this.#mark = to;
      this.#stride *= 2;
      this.#left = this.#stride;
    }
    return to;
  }
}
