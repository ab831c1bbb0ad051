// The compensations of an execution: registered in the order in which its steps ended (Y-1), run in the reverse,
// those of a group together (Y-4). History says which are registered; the code, when it is replayed, says how each
// step is undone.

import type { CallKey } from '../../execution/names.ts';
import { InvalidInput } from '../../support/fault.ts';
import { rejectUnknownOptions, shown, TEN_YEARS_MS, wholeNumber } from '../../support/options.ts';
import type { Compensate, CompensateOptions } from '../context.ts';
import { type ResolvedRetry, resolveRetry } from '../retry-options.ts';
import type { Ledger } from './ledger.ts';

/** As the code says it, checked. */
export interface Compensation {
  readonly run: Compensate<unknown>;
  readonly retry: ResolvedRetry;
  readonly timeoutMs: number | undefined;
  readonly group: string | undefined;
}

export interface Offered {
  readonly name: string;
  readonly compensation: Compensation;
}

/** Why there is no checkpoint and no fresh start after a step that can be undone: the way back is its history. */
const UNDOABLE =
  'Steps with a compensation have run, and their history is needed to undo them: ctx.checkpoint and ctx.continueAsNew would forget it. Do this work in a child execution, or checkpoint before the first such step.';

const NAMES: readonly (keyof CompensateOptions<unknown>)[] = ['run', 'retry', 'timeoutMs', 'group'];

export function compensationOf(given: unknown): Compensation {
  const options = typeof given === 'function' ? { run: given } : given;
  if (typeof options !== 'object' || options === null) {
    throw new InvalidInput(`compensate is a function, or { run, … }; got ${shown(given)}.`);
  }
  rejectUnknownOptions('compensate', options, NAMES);
  const { run, retry, timeoutMs, group } = options as CompensateOptions<unknown>;
  if (typeof run !== 'function') {
    throw new InvalidInput(`compensate.run is a function; got ${shown(run)}.`);
  }
  if (timeoutMs !== undefined) {
    wholeNumber('compensate.timeoutMs', timeoutMs, { min: 1, max: TEN_YEARS_MS });
  }
  if (group !== undefined && typeof group !== 'string') {
    throw new InvalidInput(`compensate.group is a text; got ${shown(group)}.`);
  }
  return { run, retry: resolveRetry(retry), timeoutMs, group };
}

export function undoKeyOf(key: CallKey): CallKey {
  return `undo:${key}` as CallKey;
}

/** The compensations that the code of a run has offered, and how many are registered. */
export class Compensations {
  /** How many compensations were registered, by this claim and those before it. */
  registered: number;
  readonly #isUndoing: boolean;
  readonly #offered: Map<CallKey, Offered> = new Map();
  #active = 0;
  #atRest: (() => void) | undefined;

  constructor({ wayBack, cause }: Pick<Ledger, 'wayBack' | 'cause'>) {
    this.registered = wayBack.sagas.length;
    this.#isUndoing = cause !== undefined;
  }

  /** Y-2: the execution cannot simply end. */
  get isOwed(): boolean {
    return !this.#isUndoing && this.registered > 0;
  }

  /** Before what forgets history: steps that can be undone need it, and those that are being undone. */
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

  /** No step that can be undone is running any more. */
  async settled(): Promise<void> {
    if (this.#active === 0) return;
    await new Promise<void>((resolve) => {
      this.#atRest = resolve;
    });
  }
}

/** In the order in which they are undone; a group stands where the last of its steps ended. */
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
