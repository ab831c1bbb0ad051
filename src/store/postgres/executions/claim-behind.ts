// A claim that is called right after a submit joins the submit's transaction. Both were
// called in one turn of the event loop, and the flush of the submit begins at the end of that turn.

import { OutcomeUnknown } from '../../../support/fault.ts';
import type { Timers } from '../../../support/timer.ts';
import type { Bound } from '../database.ts';
import { CLAIM_READY, type ClaimRow } from './claim-statement.ts';

interface Waiting {
  readonly bound: Bound;
  readonly resolve: (rows: readonly ClaimRow[] | undefined) => void;
  readonly reject: (fault: unknown) => void;
}

/** Runs the insert and the claim in one transaction, and returns the rows of both. */
type RunTogether = (claim: Bound) => Promise<readonly (readonly object[])[]>;

export class ClaimBehind {
  readonly #timers: Timers;
  /** True if a flush of submits begins at the end of this turn. */
  #isSubmitDue: () => boolean = () => false;
  #waiting: Waiting | undefined;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  watch(isSubmitDue: () => boolean): void {
    this.#isSubmitDue = isSubmitDue;
  }

  /**
   * Resolves to the rows of the claim, or to undefined if it was not applied: there was no submit to
   * join, or the transaction failed. The claim then goes alone.
   */
  async join(values: readonly unknown[]): Promise<readonly ClaimRow[] | undefined> {
    if (this.#waiting !== undefined || !this.#isSubmitDue()) return undefined;
    return new Promise((resolve, reject) => {
      const waiting = { bound: { statement: CLAIM_READY, values }, resolve, reject };
      this.#waiting = waiting;
      // The flush was scheduled before this. It leaves the claim if it needs several statements.
      this.#timers.soon(() => {
        if (this.#waiting !== waiting) return;
        this.#waiting = undefined;
        resolve(undefined);
      });
    });
  }

  /** For the flush: takes the waiting claim along. Undefined if there is none. */
  take(): ((run: RunTogether) => Promise<JoinedClaim>) | undefined {
    const waiting = this.#waiting;
    if (waiting === undefined) return undefined;
    this.#waiting = undefined;
    return async (run) => {
      try {
        const [inserted = [], claimed = []] = await run(waiting.bound);
        const rows = claimed as readonly ClaimRow[];
        waiting.resolve(rows);
        return { inserted, claimed: new Set(rows.map(({ id }) => id)) };
      } catch (fault) {
        if (fault instanceof OutcomeUnknown) waiting.reject(fault);
        else waiting.resolve(undefined);
        throw fault;
      }
    };
  }
}

interface JoinedClaim {
  /** The rows of the insert. */
  readonly inserted: readonly object[];
  /** The ids of the executions that the claim took. */
  readonly claimed: ReadonlySet<string | null>;
}
