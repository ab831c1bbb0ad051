// Receives a signal: a named message that the store keeps until the code asks for it.

import { OWN_PREFIX } from '../../../execution/names.ts';
import { UPDATE_NAME_BYTES_MAX } from '../../../features/updates/model.ts';
import { InvalidInput } from '../../../support/fault.ts';
import {
  boundedText,
  integerOption,
  optionalBooleans,
  readOptions,
  TEN_YEARS_MS,
} from '../../../support/options.ts';
import type { ReceiveOptions, Update } from '../../context.ts';
import { type ExpectedPlace, signalPosition } from '../../values/place.ts';
import { checkingArguments } from '../guarded.ts';
import type { CallBody, Opening, Settlement } from '../ledger.ts';
import type { ReplyContent } from './publish.ts';
import { SleepCall, type SleepPlan } from './sleep.ts';

export function receiveOptions(
  name: string,
  options: ReceiveOptions,
): { readonly span: SleepPlan['span']; readonly isUpdate: boolean } {
  const given = readOptions('ctx.receive', options, ['timeoutMs', 'update']);
  const { timeoutMs, update: isUpdate = false } = given;
  optionalBooleans('ctx.receive', { update: isUpdate });
  if (isUpdate) boundedText('The name of an update', name, UPDATE_NAME_BYTES_MAX);
  if (timeoutMs === undefined) return { span: undefined, isUpdate };
  const ms = integerOption('timeoutMs', timeoutMs, { min: 0, max: TEN_YEARS_MS });
  return { span: { ms }, isUpdate };
}

/** With a time limit, this is a sleep that a message can end. */
export class ReceiveCall<Value, Plan extends SleepPlan = SleepPlan> extends SleepCall<Value, Plan> {
  #isOpen = false;
  #hasLost: (() => boolean) | undefined;

  /**
   * Watches the promise that the code gets. Once the call has lost its races, the inbox keeps
   * messages for other receives.
   */
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
    return this.got(settlement, signalPlace(this.plan.name));
  }

  protected got(settlement: Settlement, place: ExpectedPlace): void | Promise<void> {
    return this.resolveWith(settlement, place);
  }

  /** Withdraws the receive, unless the inbox has already given it a message. */
  protected override mayEnd(): boolean {
    return this.run.inbox.withdraw(this.key);
  }
}

export function signalPlace(name: string): ExpectedPlace {
  return { position: signalPosition(name), isOpen: name.startsWith(OWN_PREFIX) };
}

interface ReceiveUpdatePlan extends SleepPlan {
  reply(content: ReplyContent, token: string): Promise<void>;
}

/** Receives an update: a signal with the token of its reply. */
export class ReceiveUpdateCall extends ReceiveCall<unknown, ReceiveUpdatePlan> {
  protected override got({ body }: Settlement, place: ExpectedPlace): void | Promise<void> {
    const value = this.run.payloads.decodeEnvelope(body.out ?? {}, place);
    const resolve = (decoded: unknown): void =>
      this.promised.resolve(this.#updateOf(decoded, body));
    if (!(value instanceof Promise)) return resolve(value);
    return value.then(resolve, (error) => this.reject(error));
  }

  #updateOf(value: unknown, { update: token = '' }: CallBody): Update {
    let isReplied = false;
    const send = (content: ReplyContent): Promise<void> => {
      checkingArguments(() => {
        if (!isReplied) return;
        throw new InvalidInput(
          `The update "${this.plan.name}" has a reply already. Nothing was written. Reply once.`,
        );
      });
      isReplied = true;
      return this.plan.reply(content, token);
    };
    return {
      value,
      reply: (reply) => send({ value: reply }),
      reject: (reason) => send({ rejected: reason }),
    };
  }
}

// Detects receives that the code no longer waits for because they lost every race.
//
// A promise cannot list its listeners, but it can see each new one. `Promise.race` reads
// `constructor` and then calls `then` with the one `resolve` that it gives to all its promises;
// `await` only reads `constructor`. A listener counts as lost only if it is a race that another
// promise has won. In doubt it counts as live, so no message is withheld from code that may want
// it. The prototype belongs to this file, so other promises stay as fast as before.

interface Race {
  isDecided: boolean;
}

/** The listeners of one promise. */
class Listeners {
  readonly races: Set<Race> = new Set();
  /** Something other than a race listens. */
  isAwaited = false;
  /**
   * Something read `constructor` and has not called `then` since: an `await`, or the start of a
   * race.
   */
  isInspected = false;
  /** True while this file itself reads `constructor`. */
  isOurs = false;
  readonly onListener: () => void;

  constructor(onListener: () => void) {
    this.onListener = onListener;
  }

  get hasLost(): boolean {
    if (this.isAwaited || this.isInspected || this.races.size === 0) return false;
    return [...this.races].every(({ isDecided }) => isDecided);
  }
}

const LISTENERS: WeakMap<object, Listeners> = new WeakMap();
const RACES: WeakMap<object, Race> = new WeakMap();
const NATIVE = /\{\s*\[native code\]\s*\}$/;

type Reaction<Value, Result> = ((value: Value) => Result | PromiseLike<Result>) | null | undefined;

/** The race that a native `resolve` belongs to. Undefined for functions written in JavaScript. */
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
    listeners.isInspected = false;
    if (race === undefined) listeners.isAwaited = true;
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
    if (listeners.isInspected) listeners.isAwaited = true;
    listeners.isInspected = true;
    listeners.onListener();
    return Promise;
  },
});

/** Makes the promise observe its races, and the promises that `then` derives from it. */
export function raced<Value>(promise: Promise<Value>): Promise<Value> {
  return Object.setPrototypeOf(promise, RacedPromise.prototype) as Promise<Value>;
}

/**
 * As `raced`. Returns a function that tests whether the promise has lost its races. A new listener
 * triggers `onListener`.
 */
function listenedTo(promise: Promise<unknown>, onListener: () => void): () => boolean {
  const listeners = new Listeners(onListener);
  LISTENERS.set(raced(promise), listeners);
  return () => listeners.hasLost;
}
