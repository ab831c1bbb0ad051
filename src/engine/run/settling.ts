// Gives a run's code what it asked for: from history, in the order of history, or by beginning it.
//
//   - Settlements reach the code one at a time, and the code comes to rest before the next: the first
//     run and every replay see the same order, also where calls race each other.
//   - While history is not used up nothing new is started. Code that asks for something else than what
//     history has next has drifted: the execution is blocked and says so; nothing is guessed.

import type { CallKey } from '../../execution/names.ts';
import type { Call } from './call.ts';
import { after, safely } from './guarded.ts';
import { needsCall, type Settlement } from './ledger.ts';
import type { Run } from './run.ts';

export class Settling {
  readonly #run: Run;
  /** Calls that history settles and that were not given to the code yet. */
  readonly #known: Set<CallKey> | undefined;
  /** Calls that are begun once history is used up. */
  #deferred: Call[] = [];
  /** How many settlements of the ledger have reached the code. */
  #cursor = 0;
  #isResting = false;
  #fetching = 0;
  #cancelDrift: (() => void) | undefined;

  constructor(run: Run) {
    this.#run = run;
    this.#known = run.ledger.settledKeys();
  }

  get cursor(): number {
    return this.#cursor;
  }

  get isReplaying(): boolean {
    return this.#cursor < this.#run.ledger.settlements.length;
  }

  /** Answers a call from history; what history does not have is begun, now or when history is used up. */
  answer(call: Call): void {
    if (this.#known?.has(call.key) === true) {
      this.pump();
    } else if (this.isReplaying || this.#run.startsNothing) {
      this.#deferred.push(call);
      if (this.#run.isFrozen) this.#run.rest();
      this.watchForDrift();
    } else if (this.#deferred.length === 0) {
      call.start(this.#run.ledger.openingOf(call.key));
    } else {
      // Calls start in the order in which they were made: the first of two receives gets the first message.
      this.#deferred.push(call);
      this.#run.config.timers.soon(this.#rested);
    }
  }

  /** Whether a call that has just become durable may resolve now: nothing else stands before it. */
  passes(call: Call): boolean {
    const { ledger, calls } = this.#run;
    if (this.#isResting || ledger.settlements.length > 0 || this.#run.isReadingInbox) return false;
    return calls.delete(call.key);
  }

  /** The next settlement, if the code is ready for it. */
  pump(): void {
    const run = this.#run;
    if (this.#isResting || run.isOver || run.isReadingInbox) return;
    const { settlements } = run.ledger;
    const settlement = settlements[this.#cursor];
    if (settlement === undefined) return;
    const call = run.calls.get(settlement.body.key);
    if (call === undefined && needsCall(settlement.kind) && run.cancelled === undefined) {
      this.watchForDrift();
      return;
    }
    this.#cursor += 1;
    run.disturb();
    this.stopWatching();
    this.#known?.delete(settlement.body.key);
    if (settlement.body.soft !== true) run.ledger.now = settlement.at;
    this.#give(settlement, call);
    if (this.#cursor === settlements.length) {
      // Used up: what was delivered is not kept, or a long execution would hold all its results.
      settlements.length = 0;
      this.#cursor = 0;
      if (run.isHeld) run.rest();
    }
    this.comeToRest();
  }

  #give(settlement: Settlement, call: Call | undefined): void {
    const run = this.#run;
    if (settlement.kind === 'child-ended') {
      run.inbox.childEnded(settlement);
      return;
    }
    if (call !== undefined) run.calls.delete(call.key);
    if (settlement.kind === 'cancel-requested') run.cancel(settlement.body.reason ?? '');
    else this.deliverAfter(call?.settle(settlement));
  }

  /**
   * The code reacts to one settlement before it gets the next, in the first run as in every replay. When
   * history is used up and no call is left, nothing can be settled before the code has asked again.
   */
  comeToRest(): void {
    if (this.#run.calls.size === 0 && !this.isReplaying && this.#fetching === 0) return;
    this.#isResting = true;
    this.#run.config.timers.soon(this.#rested);
  }

  /** Values that are fetched reach the code in the order of history too. */
  deliverAfter(fetching: void | Promise<void>): void {
    if (fetching === undefined) return;
    this.#fetching += 1;
    const fetched = (): void => {
      this.#fetching -= 1;
      this.#run.config.timers.soon(this.#rested);
    };
    fetching.then(fetched, fetched);
  }

  /** None of what waits to be begun is wanted any more. */
  drop(): void {
    this.#deferred = [];
  }

  /** The code is not listened to any more: neither what it was told nor what it asks for matters. */
  forget(): void {
    this.drop();
    this.#known?.clear();
    this.#run.ledger.forget();
    this.#cursor = 0;
    this.stopWatching();
  }

  /** Only code that has asked for something while history has something else next can have drifted. */
  watchForDrift(): void {
    const run = this.#run;
    this.stopWatching();
    if (run.calls.size === 0 || (!this.isReplaying && run.unasked === undefined)) return;
    this.#cancelDrift = after(run, run.config.driftGraceMs, () => {
      if (run.isOver || run.isHeld) return;
      const drift = run.ledger.driftAt(this.#cursor, run.calls);
      if (drift !== undefined) run.events.drifted(drift);
      else run.rest();
    });
  }

  stopWatching(): void {
    this.#cancelDrift?.();
  }

  readonly #rested = (): void => {
    if (this.#fetching > 0) return;
    this.#isResting = false;
    safely(this.#run, () => (this.isReplaying ? this.pump() : this.#startDeferred()));
  };

  #startDeferred(): void {
    const { isOver, startsNothing, calls, ledger } = this.#run;
    if (isOver || startsNothing) return;
    const deferred = this.#deferred;
    this.#deferred = [];
    for (const call of deferred) {
      if (calls.get(call.key) === call) call.start(ledger.openingOf(call.key));
    }
  }
}
