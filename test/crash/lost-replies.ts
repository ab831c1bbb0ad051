// Loses replies between a commit and its receiver, thousands of times in a full run, and checks that nothing that
// was acknowledged is lost. A step is acknowledged when a later step of its execution starts, because
// code may have the result itself a moment before it is durable (ADR 0061).

import assert from 'node:assert/strict';
import type { Pipeline } from '../../src/engine/pipeline.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import type { HistoryEvent } from '../../src/execution/history.ts';
import { OutcomeUnknown, StoreUnavailable } from '../../src/support/fault.ts';
import { type Random, seededRandom } from '../../src/support/random.ts';
import { runSeed } from '../services/tier.ts';

const STEPS = 3;
const AT_ONCE = 16;
/** One of so many replies is lost. */
const ONE_OF = 8;
/** An execution has its result within this time. Without its reply, a caller would wait forever. */
const KNOWN_MS = 60_000;

/** Chooses the replies that are lost, and counts them. */
export class Losses {
  readonly #random: Random = seededRandom(runSeed());
  lost = 0;
  /** Stores and workers do not repeat what they do to open. */
  isOn = false;

  take(): boolean {
    const isLost = this.isOn && this.#random.next() * ONE_OF < 1;
    if (isLost) this.lost += 1;
    return isLost;
  }
}

/** Remembers what code saw, over all attempts of all executions. */
export class Witness {
  readonly pipeline: Pipeline<number, readonly number[]>;
  /** The values of the steps of each execution that a later step has seen. */
  readonly #acknowledged: Map<number, number[]> = new Map();
  readonly #again: string[] = [];
  #ran = 0;

  constructor() {
    this.pipeline = pipeline({
      name: 'witnessed',
      run: async (ctx, nth: number) => {
        const values: number[] = [];
        for (let step = 0; step < STEPS; step += 1) {
          values.push(await ctx.step(`s${step}`, () => this.#run(nth, values)));
        }
        return values;
      },
    });
  }

  /** Each run of a step returns another value, so that a second run of it shows. */
  #run(nth: number, before: readonly number[]): number {
    const seen = this.#acknowledged.get(nth) ?? [];
    if (seen.length > before.length) this.#again.push(`step ${before.length} of ${nth}`);
    assert.deepEqual(before.slice(0, seen.length), seen.slice(0, before.length));
    this.#acknowledged.set(nth, [...before]);
    this.#ran += 1;
    return this.#ran;
  }

  /** `nth` has ended with this output and this history. */
  check(nth: number, output: unknown, history: readonly HistoryEvent[]): void {
    const seen = this.#acknowledged.get(nth) ?? [];
    const values = output as readonly number[];
    assert.equal(values.length, STEPS);
    assert.deepEqual(values.slice(0, seen.length), seen, `execution ${nth} lost a step`);
    assert.deepEqual(
      history.map(({ seq }) => seq),
      history.map((_, index) => index + 1),
    );
    const steps = history.filter(({ kind }) => kind === 'step-completed');
    assert.equal(steps.length, STEPS, `execution ${nth} has ${steps.length} steps in its history`);
  }

  finish(): void {
    assert.deepEqual(this.#again, [], 'acknowledged steps ran again');
  }
}

export interface Ended {
  readonly id: string;
  readonly output: unknown;
}

/** Runs executions until so many replies were lost. Returns what its callers got, by number. */
export async function runUntilLost(
  count: number,
  losses: Losses,
  submitAndWait: (nth: number) => Promise<Ended>,
): Promise<ReadonlyMap<number, Ended>> {
  const ended = new Map<number, Ended>();
  let next = 0;
  losses.isOn = true;
  const loop = async (): Promise<void> => {
    while (losses.lost < count) {
      const nth = next;
      next += 1;
      ended.set(nth, await untilKnown(nth, () => submitAndWait(nth)));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, loop));
  losses.isOn = false;
  return ended;
}

/** A caller repeats a call with a key until its outcome is known. Fails if that takes too long. */
async function untilKnown<Result>(nth: number, call: () => Promise<Result>): Promise<Result> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const seconds = KNOWN_MS / 1_000;
    late.reject(
      new Error(`Execution ${nth} has no result after ${seconds} s: it lost a repeated call.`),
    );
  }, KNOWN_MS);
  try {
    for (;;) {
      try {
        return await Promise.race([call(), late.promise]);
      } catch (fault) {
        if (!(fault instanceof OutcomeUnknown || fault instanceof StoreUnavailable)) throw fault;
      }
    }
  } finally {
    clearTimeout(timer);
  }
}
