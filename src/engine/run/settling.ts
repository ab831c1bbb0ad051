// Settles the calls of a run: from history, in the order of history, or by starting them.
//
// - Settlements reach the code one at a time, and the code comes to rest before the next. So the
//   first run and every replay see the same order, even where calls race each other.
// - A run starts nothing new until history is used up. Code that makes another call than history
//   has next has drifted. The engine then blocks the execution with an explanation and guesses
//   nothing.
// - Code may run ahead: it gets the result of a step while the journal writes it. Its next calls
//   wait until the result is durable.

import type { CallKey } from '../../execution/names.ts';
import type { Call } from './call.ts';
import { after, safely } from './guarded.ts';
import { needsCall, type Settlement } from './ledger.ts';
import type { Run } from './run.ts';

/** `stored`: the result is durable, and the messages that came with the reply may still be unread. */
type Ahead = 'none' | 'unstored' | 'stored';

export class Settling {
  readonly #run: Run;
  /** Calls that history settles and that have not reached the code yet. */
  readonly #known: Set<CallKey> | undefined;
  /** Calls to start once history is used up. */
  #deferred: Call[] = [];
  /** The number of settlements that have reached the code. */
  #cursor = 0;
  /** The code has not started yet, or has not reacted to the last settlement. */
  #isResting = true;
  #fetching = 0;
  #ahead: Ahead = 'none';
  /** Calls that code made while it ran ahead. */
  #held: Call[] = [];
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

  /**
   * Settles a call from history. A call that history lacks starts now, or once history is used up.
   */
  replay(call: Call): void {
    if (this.#known?.has(call.key) === true) {
      this.pump();
    } else if (this.isReplaying || this.#run.startsNothing) {
      this.#deferred.push(call);
      if (this.#run.isFrozen || this.#run.isHeld) this.#run.rest();
      this.watchForDrift();
    } else if (this.#deferred.length === 0) {
      call.start(this.#run.ledger.openingOf(call.key));
    } else {
      // Calls start in the order in which the code made them: the first of two receives gets the
      // first message.
      this.#deferred.push(call);
      this.#run.config.timers.soon(this.#rested);
    }
  }

  /** True if a call that just became durable may resolve now, because nothing comes before it. */
  passes(call: Call): boolean {
    const { ledger, calls } = this.#run;
    if (this.#isResting || ledger.settlements.length > 0 || this.#run.isReadingInbox) return false;
    return calls.delete(call.key);
  }

  /** True if the code may have the result of this step before it is durable. */
  runsAhead(call: Call): boolean {
    const { calls, journal, mayRunAhead } = this.#run;
    // Any other call or entry may settle first, and a replay would deliver it first.
    if (!mayRunAhead || calls.size > 1 || !journal.isIdle || !this.passes(call)) return false;
    this.#ahead = 'unstored';
    this.#run.config.timers.soon(this.#flushAhead);
    return true;
  }

  /** True while the code has a result whose write has not been confirmed. */
  get isAhead(): boolean {
    return this.#ahead !== 'none';
  }

  /** Keeps the call until the result before it is durable. Returns false if there is none. */
  holds(call: Call): boolean {
    if (!this.isAhead) return false;
    this.#held.push(call);
    this.#run.journal.flush();
    return true;
  }

  stored(): void {
    this.#ahead = 'stored';
  }

  /** Begins the calls that waited for a result to be durable, unless a message comes first. */
  catchUp(): void {
    if (this.#ahead !== 'stored' || this.#run.isReadingInbox) return;
    this.#ahead = 'none';
    for (const call of this.#held.splice(0)) this.#run.begin(call);
  }

  /** The code neither made a call nor returned, so the result is written by itself. */
  readonly #flushAhead = (): void => {
    if (this.#ahead === 'unstored') this.#run.journal.flush();
  };

  /** The code starts. History may begin with settlements that wait for no call of it. */
  begin(): void {
    this.#isResting = false;
    if (this.isReplaying) this.comeToRest();
  }

  /** Delivers the next settlement, if the code is ready for it. */
  pump(): void {
    const run = this.#run;
    if (this.#isResting || run.isOver || run.isReadingInbox) return;
    const { settlements } = run.ledger;
    const settlement = settlements[this.#cursor];
    if (settlement === undefined) return;
    const call = run.calls.get(settlement.body.key);
    const { kind, body } = settlement;
    if (call === undefined && needsCall(kind) && !run.isRejected(body.key)) {
      this.watchForDrift();
      return;
    }
    this.#cursor += 1;
    run.noteActivity();
    this.stopWatching();
    this.#known?.delete(settlement.body.key);
    run.ledger.advance(settlement);
    this.#give(settlement, call);
    if (this.#cursor === settlements.length) {
      // History is used up. Drop it, or a long execution would keep all its results in memory.
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
    if (settlement.kind === 'cancel-requested')
      run.cancel(settlement.body.reason ?? '', settlement.at);
    else this.deliverAfter(call?.settle(settlement));
  }

  /**
   * The code reacts to one settlement before it gets the next, in the first run and in every
   * replay. If history is used up and no call is pending, nothing can settle before the code makes
   * another call.
   */
  comeToRest(): void {
    if (this.#run.calls.size === 0 && !this.isReplaying && this.#fetching === 0) return;
    this.#isResting = true;
    this.#run.config.timers.soon(this.#rested);
  }

  /** Fetched values also reach the code in the order of history. */
  deliverAfter(fetching: void | Promise<void>): void {
    if (fetching === undefined) return;
    this.#fetching += 1;
    const fetched = (): void => {
      this.#fetching -= 1;
      this.#run.config.timers.soon(this.#rested);
    };
    fetching.then(fetched, fetched);
  }

  /** The run no longer wants any call that waits to start. */
  drop(): void {
    this.#deferred = [];
    this.#held = [];
  }

  /** The engine stops listening to the code, so its pending results and calls no longer matter. */
  forget(): void {
    this.drop();
    this.#known?.clear();
    this.#run.ledger.forget();
    this.#cursor = 0;
    this.stopWatching();
  }

  /** Drift needs a pending call of the code while history has another one next. */
  watchForDrift(): void {
    const run = this.#run;
    this.stopWatching();
    if (run.calls.size === 0 || (!this.isReplaying && run.missingCall === undefined)) return;
    this.#cancelDrift = after(run, run.config.driftGraceMs, () => {
      if (run.isOver || run.isHeld) return;
      if (run.isEntering) {
        this.watchForDrift();
        return;
      }
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
