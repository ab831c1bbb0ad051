// Marks for resources that are written while a request is handled, where no transaction joins the
// check and the write. A request enters with its fence and leaves when its effect is done. A higher
// fence raises the mark at once, which refuses all lower ones, and enters once the requests inside
// have left.

import type { Fence } from '../lease/fence.ts';
import { assert } from '../support/assert.ts';
import { Fault, InvalidInput, StoreUnavailable } from '../support/fault.ts';
import { integerOption, rejectUnknownOptions, shown } from '../support/options.ts';
import { systemTimers, type Timers } from '../support/timer.ts';
import {
  type Fenced,
  type GuardResult,
  needFunction,
  parseFenced,
  parseMark,
  type Stale,
  staleAt,
} from './mark.ts';
import type { RowResult } from './sql.ts';

/**
 * Keeps the greatest fence of each resource while requests work on it. `memoryMarks` and
 * `postgresMarks` make one.
 *
 * @example
 * const marks: Marks = memoryMarks();
 * const entered = await marks.enter(lease);
 * if (entered.kind === 'entered') await entered.leave();
 */
export interface Marks {
  /**
   * Lets a request in, unless a greater fence was shown. Waits for requests of an earlier holder.
   */
  enter(fenced: Fenced): Promise<EnterResult>;
}

/** The result of `enter`: entered, refused as stale, or busy. */
export type EnterResult = Entered | Stale | Busy;

/**
 * A request that was let in. No later holder is let in until it leaves.
 *
 * @example
 * const entered = await memoryMarks().enter(lease);
 * if (entered.kind === 'entered') await entered.leave();
 */
export interface Entered {
  /** Always `entered`. */
  readonly kind: 'entered';
  /** Aborts if the permit is lost before the request leaves. A later holder may be inside then. */
  readonly lost?: AbortSignal;
  /**
   * Call it once, when the effect is done or will not be done. Rejects with `PermitLost` if the
   * permit was lost.
   */
  leave(): Promise<void>;
}

/**
 * A request lost its permit while it was working. A later holder may have entered; check what was
 * done.
 */
export class PermitLost extends Fault {
  override readonly name = 'PermitLost';

  constructor(resource: string, options?: ErrorOptions) {
    super(
      'permit-lost',
      `The connection that kept later holders out of "${resource}" broke during a request, ` +
        'so a later holder may have entered. Stop, and find out what was done before you continue.',
      options,
    );
  }
}

/**
 * Requests of an earlier holder did not end in time. Nothing was done; the earlier holder is shut
 * out all the same.
 */
export interface Busy {
  /** Always `busy`. */
  readonly kind: 'busy';
  /** The key of the lease. */
  readonly resource: string;
}

/** Options of `memoryMarks`. */
export interface MemoryMarksOptions {
  /**
   * Milliseconds that a new holder waits for requests of an earlier one, up to an hour. Default
   * 10,000.
   */
  readonly waitMs?: number;
  /**
   * Raises a mark that outlives this process, such as the `admit` of another guard. Without it a
   * restart forgets all marks, and a stale fence passes until a newer one is shown.
   */
  readonly keep?: (fenced: Fenced) => Promise<KeepResult> | KeepResult;
  /** The timers. Default: those of Node. Replace them in tests. */
  readonly timers?: Timers;
}

/** The result of the `admit` of any guard. */
export type KeepResult = GuardResult | RowResult | Busy;

const OPTIONS: readonly string[] = ['waitMs', 'keep', 'timers'];
export const WAIT_MS = 10_000;
export const WAIT_MS_MAX = 3_600_000;

/**
 * Keeps marks in the memory of one process. Every request for a resource must come through this
 * process.
 *
 * Throws `InvalidInput` for invalid options.
 *
 * @example
 * const marks = memoryMarks({ waitMs: 5_000 });
 */
export function memoryMarks(options: MemoryMarksOptions = {}): Marks {
  rejectUnknownOptions('memoryMarks', options, OPTIONS);
  if (options.keep !== undefined) {
    const what = 'memoryMarks: `keep` is a function that raises a lasting mark';
    needFunction(options.keep, { what, pass: 'keep: (fenced) => guard.admit(pool, fenced)' });
  }
  const range = { min: 0, max: WAIT_MS_MAX };
  const waitMs = integerOption('waitMs', options.waitMs ?? WAIT_MS, range);
  return new MemoryMarks({ ...options, waitMs, timers: options.timers ?? systemTimers });
}

type Config = MemoryMarksOptions & { readonly waitMs: number; readonly timers: Timers };

class MemoryMarks implements Marks {
  readonly #config: Config;
  /** Entries are never removed: without its mark, a resource would accept every stale fence. */
  readonly #entrances: Map<string, Entrance> = new Map();

  constructor(config: Config) {
    this.#config = config;
  }

  async enter(fenced: Fenced): Promise<EnterResult> {
    const presented = parseFenced(fenced);
    const { key, fence } = presented;
    const entrance = this.#entranceOf(key);
    const isFree = entrance.raise(fence) && (await this.#untilFree(entrance, fence));
    if (fence < entrance.newest) return staleAt(presented, entrance.newest);
    if (!isFree) return { kind: 'busy', resource: key };
    // Enter before the mark is stored, so that a higher fence which arrives meanwhile waits for
    // this request.
    const leave = entrance.step(fence);
    try {
      const refusal = await this.#keep(presented, entrance);
      if (refusal === undefined) return { kind: 'entered', leave: async () => leave() };
      leave();
      return refusal;
    } catch (error) {
      leave();
      throw error;
    }
  }

  async #keep(fenced: Fenced, entrance: Entrance): Promise<Stale | Busy | undefined> {
    if (this.#config.keep === undefined) return undefined;
    const kept = await this.#config.keep(fenced);
    switch (kept?.kind) {
      case 'current':
      case 'written':
        return undefined;
      case 'stale':
        entrance.raise(parseMark(fenced.key, kept.newest));
        return staleAt(fenced, entrance.newest);
      case 'busy':
        return { kind: 'busy', resource: fenced.key };
      case 'missing':
        throw new StoreUnavailable(
          `\`keep\` found no row for the mark of "${fenced.key}". Nothing was done. Insert the row first.`,
        );
      default:
        throw new InvalidInput(
          `\`keep\` must return the result of \`admit\` of a guard; got ${shown(kept)}.`,
        );
    }
  }

  #entranceOf(key: string): Entrance {
    const found = this.#entrances.get(key) ?? new Entrance();
    this.#entrances.set(key, found);
    return found;
  }

  async #untilFree(entrance: Entrance, fence: Fence): Promise<boolean> {
    if (!entrance.holdsBelow(fence)) return true;
    return await new Promise<boolean>((resolve) => {
      const cancel = this.#config.timers.after(this.#config.waitMs, () => done(false));
      const stopListening = entrance.onLeave(() => {
        if (!entrance.holdsBelow(fence)) done(true);
      });
      const done = (isFree: boolean) => {
        cancel();
        stopListening();
        resolve(isFree);
      };
    });
  }
}

/** The requests inside one resource, and the highest fence that was shown. */
class Entrance {
  newest = 0;
  readonly #inside: Map<Fence, number> = new Map();
  readonly #listeners: Set<() => void> = new Set();

  /** Returns false if a higher fence was shown before. */
  raise(fence: Fence): boolean {
    if (fence < this.newest) return false;
    this.newest = fence;
    return true;
  }

  holdsBelow(fence: Fence): boolean {
    return [...this.#inside.keys()].some((other) => other < fence);
  }

  /** The returned function ends the stay. A second call is harmless. */
  step(fence: Fence): () => void {
    this.#inside.set(fence, (this.#inside.get(fence) ?? 0) + 1);
    let isInside = true;
    return () => {
      if (!isInside) return;
      isInside = false;
      const others = (this.#inside.get(fence) ?? 0) - 1;
      assert(others >= 0, 'who leaves has entered');
      if (others === 0) this.#inside.delete(fence);
      else this.#inside.set(fence, others);
      for (const listener of [...this.#listeners]) listener();
    };
  }

  onLeave(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
