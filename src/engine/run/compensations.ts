// The compensations of an execution. The engine registers them in the order in which steps end
// (Y-1) and runs them in reverse, all of a group together (Y-4). History lists the registered ones.
// The replayed code supplies the function that undoes each step.

import type { CallKey } from '../../execution/names.ts';
import { InvalidInput } from '../../support/fault.ts';
import {
  integerOption,
  rejectUnknownOptions,
  shown,
  TEN_YEARS_MS,
  wordsIn,
} from '../../support/options.ts';
import type { CircuitPolicy } from '../circuits.ts';
import type { Compensate, CompensateOptions } from '../context.ts';
import { type ResolvedRetry, resolveRetry } from '../retry-options.ts';
import type { Ledger } from './ledger.ts';

/** The checked options of a compensation. */
export interface Compensation {
  readonly run: Compensate<unknown>;
  readonly retry: ResolvedRetry;
  readonly timeoutMs: number | undefined;
  readonly heartbeatTimeoutMs: number | undefined;
  /** That of the step: both call the same service. */
  readonly circuit: CircuitPolicy | undefined;
  readonly group: string | undefined;
}

export interface Offered {
  readonly name: string;
  readonly compensation: Compensation;
}

/** A checkpoint or a fresh start would drop the history that the compensations need. */
const UNDOABLE =
  'Steps with a compensation have run, and their history is needed to undo them. ctx.checkpoint and ctx.continueAsNew would drop it, so nothing was written. Do this work in a child execution, or checkpoint before the first such step.';

const NAMES: readonly (keyof CompensateOptions<unknown>)[] = wordsIn(
  'run retry timeoutMs heartbeatTimeoutMs group',
);

export function compensationOf(given: unknown, circuit?: CircuitPolicy): Compensation {
  const options = typeof given === 'function' ? { run: given } : given;
  if (typeof options !== 'object' || options === null) {
    throw new InvalidInput(`compensate must be a function, or { run, … }; got ${shown(given)}.`);
  }
  rejectUnknownOptions('compensate', options, NAMES);
  const { run, retry, timeoutMs, heartbeatTimeoutMs, group } =
    options as CompensateOptions<unknown>;
  if (typeof run !== 'function') {
    throw new InvalidInput(`compensate.run must be a function; got ${shown(run)}.`);
  }
  for (const [name, ms] of Object.entries({ timeoutMs, heartbeatTimeoutMs })) {
    if (ms !== undefined) integerOption(`compensate.${name}`, ms, { min: 1, max: TEN_YEARS_MS });
  }
  if (group !== undefined && typeof group !== 'string') {
    throw new InvalidInput(`compensate.group must be text; got ${shown(group)}.`);
  }
  return { run, retry: resolveRetry(retry), timeoutMs, heartbeatTimeoutMs, circuit, group };
}

export function undoKeyOf(key: CallKey): CallKey {
  return `undo:${key}` as CallKey;
}

/** The compensations that the code of a run offered, and the number of registered ones. */
export class Compensations {
  /** Compensations that this claim and earlier ones registered. */
  registered: number;
  readonly #isUndoing: boolean;
  readonly #offered: Map<CallKey, Offered> = new Map();
  #active = 0;
  #atRest: (() => void) | undefined;

  constructor({ undoState, cause }: Pick<Ledger, 'undoState' | 'cause'>) {
    this.registered = undoState.sagas.length;
    this.#isUndoing = cause !== undefined;
  }

  /** True if the execution must undo steps before it ends (Y-2). */
  get isOwed(): boolean {
    return !this.#isUndoing && this.registered > 0;
  }

  /** Call this before forgetting history: compensations, pending or running, need it. */
  assertMayForget(): void {
    if (this.registered > 0) throw new InvalidInput(UNDOABLE);
  }

  offer(key: CallKey, offered: Offered): void {
    this.#offered.set(key, offered);
  }

  offeredFor(key: CallKey): Offered | undefined {
    return this.#offered.get(key);
  }

  active(change: 1 | -1): void {
    this.#active += change;
    if (this.#active === 0) this.#atRest?.();
  }

  /** Waits until no step with a compensation is running. */
  async settled(): Promise<void> {
    if (this.#active === 0) return;
    await new Promise<void>((resolve) => {
      this.#atRest = resolve;
    });
  }
}

/** The order of undoing. A group has the position of its last step. */
export function undoOrder<Step extends { readonly offered: Offered }>(
  steps: readonly Step[],
): readonly (readonly Step[])[] {
  const batches: Step[][] = [];
  const groups = new Map<string, Step[]>();
  for (const step of steps.toReversed()) {
    const { group } = step.offered.compensation;
    const known = group === undefined ? undefined : groups.get(group);
    if (known !== undefined) {
      known.push(step);
      continue;
    }
    const batch = [step];
    batches.push(batch);
    if (group !== undefined) groups.set(group, batch);
  }
  return batches;
}
