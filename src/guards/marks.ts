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

export interface Marks {
  /** While somebody is inside, no higher fence is. */
  enter(fenced: Fenced): Promise<EnterResult>;
}

export type EnterResult = Entered | Stale | Busy;

export interface Entered {
  readonly kind: 'entered';
  /** Aborts when the permit is lost before it is given back: a later holder may be inside from then on. */
  readonly lost?: AbortSignal;
  /** Once, when the effect is done or will not be done. Rejects if the permit was lost before. */
  leave(): Promise<void>;
}

/** A request lost its permit: later holders were no longer kept out while it was at work. */
export class PermitLost extends Fault {
  override readonly name = 'PermitLost';

  constructor(resource: string, options?: ErrorOptions) {
    super(
      'permit-lost',
      `The connection that kept later holders out of "${resource}" broke while a request was at ` +
        'work: a later holder may have entered. Stop; find out what was done before going on.',
      options,
    );
  }
}

/** Requests of an earlier holder were still at work when patience ended. The mark is raised. */
export interface Busy {
  readonly kind: 'busy';
  readonly resource: string;
}

export interface MemoryMarksOptions {
  /** How long a new holder waits for requests of the one before it. Default 10 s. */
  readonly waitMs?: number;
  /**
   * Raises a mark that outlives this process, such as the `admit` of another guard. Without it a
   * restart forgets all marks, and a stale fence passes until a newer one is shown.
   */
  readonly keep?: (fenced: Fenced) => Promise<KeepResult> | KeepResult;
  readonly timers?: Timers;
}

/** What the `admit` of any guard answers. */
export type KeepResult = GuardResult | RowResult | Busy;

const OPTIONS: readonly string[] = ['waitMs', 'keep', 'timers'];
export const WAIT_MS = 10_000;
export const WAIT_MS_MAX = 3_600_000;

/** Marks of one process: every request for the resource must come through it. */
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
          `\`keep\` found no row that could hold the mark of "${fenced.key}". Insert the row first.`,
        );
      default:
        throw new InvalidInput(
          `\`keep\` answers what the \`admit\` of a guard answers; got ${shown(kept)}.`,
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
