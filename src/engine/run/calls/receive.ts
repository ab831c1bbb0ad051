// A signal: a named message from outside, kept until the code asks for it.

import { OWN_PREFIX } from '../../../execution/names.ts';
import { readOptions, TEN_YEARS_MS, wholeNumber } from '../../../support/options.ts';
import { signalPosition } from '../../values/place.ts';
import type { Opening, Settlement } from '../ledger.ts';
import { SleepCall, type SleepPlan } from './sleep.ts';

export function spanOf(options: unknown): SleepPlan['span'] {
  const { timeoutMs } = readOptions('ctx.receive', options as { timeoutMs?: number }, [
    'timeoutMs',
  ]);
  if (timeoutMs === undefined) return undefined;
  return { ms: wholeNumber('timeoutMs', timeoutMs, { min: 0, max: TEN_YEARS_MS }) };
}

/** With a time limit it is a sleep that a message ends. */
export class ReceiveCall<Value> extends SleepCall<Value> {
  #isOpen = false;
  #hasLost: (() => boolean) | undefined;

  /** The promise that the code gets. While it has lost its races, messages are kept for others. */
  seen(promise: Promise<Value>): Promise<Value> {
    this.#hasLost = listenedTo(promise, () => {
      if (this.#isOpen) this.run.inbox.offer();
    });
    return promise;
  }

  override start(opening: Opening | undefined): void {
    const { key, name } = this.plan;
    this.#isOpen = true;
    const hasLost = (): boolean => this.#hasLost?.() === true;
    this.run.inbox.receive({ name, key, hasLost });
    super.start(opening);
  }

  override settle(settlement: Settlement): void | Promise<void> {
    this.#isOpen = false;
    if (settlement.kind === 'timer-fired') return super.settle(settlement);
    this.leave();
    const { name } = this.plan;
    const place = { position: signalPosition(name), isOpen: name.startsWith(OWN_PREFIX) };
    return this.resolveWith(settlement, place);
  }

  /** The receive is withdrawn, unless a message has become its own. */
  protected override mayEnd(): boolean {
    return this.run.inbox.withdraw(this.key);
  }
}

// Knows which receives the code does not wait for any more: those that lost every race they were in.
//
// A promise does not say who listens to it, but can see who begins to. `Promise.race` reads `constructor` and
// then calls `then` with the one `resolve` that it gives to all its promises; `await` reads `constructor` only.
// Whatever is not known to be a race that another promise has won counts as a listener: no message is kept from
// code that may want it. The prototype is our own, so that promises of others stay as fast as they are.

interface Race {
  isDecided: boolean;
}

/** The listeners of one promise. */
class Listeners {
  readonly races: Set<Race> = new Set();
  /** Something listens that is no race. */
  isHeard = false;
  /** `constructor` was read and `then` not called since: an `await`, or the beginning of a race. */
  isLookedAt = false;
  /** Our own look at `constructor`. */
  isOurs = false;
  readonly onListener: () => void;

  constructor(onListener: () => void) {
    this.onListener = onListener;
  }

  get hasLost(): boolean {
    if (this.isHeard || this.isLookedAt || this.races.size === 0) return false;
    return [...this.races].every(({ isDecided }) => isDecided);
  }
}

const LISTENERS: WeakMap<object, Listeners> = new WeakMap();
const RACES: WeakMap<object, Race> = new WeakMap();
const NATIVE = /\{\s*\[native code\]\s*\}$/;

type Reaction<Value, Result> = ((value: Value) => Result | PromiseLike<Result>) | null | undefined;

/** The race that a `resolve` of the language belongs to; undefined for functions that anybody wrote. */
function raceOf(resolve: unknown): Race | undefined {
  if (typeof resolve !== 'function' || resolve.name !== '') return undefined;
  if (!NATIVE.test(Function.prototype.toString.call(resolve))) return undefined;
  const race = RACES.get(resolve) ?? { isDecided: false };
  RACES.set(resolve, race);
  return race;
}

class RacedPromise<Value> extends Promise<Value> {
  // biome-ignore lint/suspicious/noThenProperty: how a race is seen
  override then<Result = Value, Failed = never>(
    onFulfilled?: Reaction<Value, Result>,
    onRejected?: Reaction<unknown, Failed>,
  ): Promise<Result | Failed> {
    const listeners = LISTENERS.get(this);
    const race = raceOf(onFulfilled);
    const decide: Reaction<Value, Result> =
      race === undefined || typeof onFulfilled !== 'function'
        ? onFulfilled
        : (value) => {
            race.isDecided = true;
            return onFulfilled(value);
          };
    if (listeners === undefined) return raced(super.then(decide, onRejected));
    listeners.isLookedAt = false;
    if (race === undefined) listeners.isHeard = true;
    else listeners.races.add(race);
    listeners.onListener();
    listeners.isOurs = true;
    const next = super.then(decide, onRejected);
    listeners.isOurs = false;
    return raced(next);
  }
}

Object.defineProperty(RacedPromise.prototype, 'constructor', {
  get(this: object): PromiseConstructor {
    const listeners = LISTENERS.get(this);
    if (listeners === undefined || listeners.isOurs) return Promise;
    if (listeners.isLookedAt) listeners.isHeard = true;
    listeners.isLookedAt = true;
    listeners.onListener();
    return Promise;
  },
});

/** The same promise, whose races are seen; so are those of what is made of it by `then`. */
export function raced<Value>(promise: Promise<Value>): Promise<Value> {
  return Object.setPrototypeOf(promise, RacedPromise.prototype) as Promise<Value>;
}

/** As `raced`, with a function that returns whether it has lost its races. `onListener`: another listener begins. */
function listenedTo(promise: Promise<unknown>, onListener: () => void): () => boolean {
  const listeners = new Listeners(onListener);
  LISTENERS.set(raced(promise), listeners);
  return () => listeners.hasLost;
}
