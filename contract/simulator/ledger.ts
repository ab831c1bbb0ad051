// The world outside Holdfast: a resource that checks fences and one that does not. Both record what
// really happened, so they are the judge of effects.

import type { SimulatedProcess } from './process.ts';
import type { World } from './world.ts';

/** Longer than two heartbeats of the slowest holder, with their replies. */
const LEARN_MS = 2_500;

interface Effect {
  readonly fence: number;
  readonly by: string;
  readonly fromMs: number;
  readonly toMs: number;
}

const ledgers = new WeakMap<World, Ledger>();

/** The one world outside of a run. */
export function ledgerOf(world: World): Ledger {
  const ledger = ledgers.get(world) ?? new Ledger(world);
  ledgers.set(world, ledger);
  return ledger;
}

export class Ledger {
  readonly #world: World;
  /** The highest fence that the fenced resource has seen, by key. */
  readonly #highest: Map<string, number> = new Map();
  readonly #effects: Map<string, Effect[]> = new Map();
  /** Terms that an operator ended without waiting: they may overlap with their successors. */
  readonly #forced: Set<number> = new Set();
  readonly #revokedAt: Map<number, number> = new Map();
  /** Every beginning of a step's code, in order. */
  readonly attempts: {
    readonly execution: string;
    readonly key: string;
    readonly fence: number;
  }[] = [];
  /** The fence under which a step's result was recorded. */
  recordedUnder: (execution: string, call: string) => number | undefined = () => undefined;
  /** Effects on the fenced resource that came too late. */
  refused = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** The fenced resource accepts an effect unless it has seen a higher fence. */
  write(process: SimulatedProcess, key: string, fence: number): boolean {
    if (process.state === 'dead') return false;
    const isStale = fence < (this.#highest.get(key) ?? 0);
    if (isStale) this.refused += 1;
    else this.#highest.set(key, fence);
    return !isStale;
  }

  forced(fence: number): void {
    this.#forced.add(fence);
  }

  /** An operator revoked the term. Its holder learns of it with the next heartbeat (V-1). */
  revoked(fence: number): void {
    this.#revokedAt.set(fence, this.#world.nowMs);
  }

  /** The code of a step begins. A newer owner must not run a step that an older one has recorded. */
  attempt(
    process: SimulatedProcess,
    step: { execution: string; key: string; fence: number },
  ): void {
    if (process.state === 'dead') return;
    const { execution, key, fence } = step;
    const call = key.split('/').slice(2).join('/');
    this.attempts.push({ ...step, key: call });
    const recorded = this.recordedUnder(execution, call);
    if (recorded === undefined || recorded >= fence) return;
    this.#world.violate(
      'M-8',
      `${process.name} ran step ${call} of ${execution} with fence ${fence}, although fence ${recorded} had recorded it.`,
    );
  }

  /** Right after `assertHeld(forMs)`: nothing checks the fence of this effect (P2). */
  effect(process: SimulatedProcess, given: { key: string; fence: number; forMs: number }): void {
    if (process.state === 'dead') return;
    const { key, fence, forMs } = given;
    const fromMs = this.#world.nowMs;
    const own: Effect = { fence, by: process.name, fromMs, toMs: fromMs + forMs / process.rate };
    const revokedMs = this.#revokedAt.get(fence) ?? fromMs;
    if (fromMs - revokedMs > LEARN_MS && this.#world.disturbedUntilMs < revokedMs) {
      this.#world.violate(
        'V-1',
        `${own.by} acted on ${key} ${Math.round(fromMs - revokedMs)} ms after fence ${fence} was revoked.`,
      );
    }
    const effects = this.#effects.get(key) ?? [];
    for (const other of effects) {
      if (other.fence === fence || other.toMs <= fromMs || other.fromMs >= own.toMs) continue;
      if (this.#forced.has(other.fence) || this.#forced.has(fence)) continue;
      if (!this.#world.isContinuous) continue;
      this.#world.violate(
        'P2',
        `${own.by} acted on ${key} with fence ${fence} while ${other.by} could act with fence ${other.fence}, until ${other.toMs.toFixed(1)} ms.`,
      );
    }
    effects.push(own);
    this.#effects.set(key, effects);
  }
}
