// How executions end that do not complete: what was thrown, as the end that is recorded.

import { isNativeError } from 'node:util/types';
import { type Failure, locatedMessage } from '../../execution/failure.ts';
import type { Claimed } from '../../store/contract/execution-store.ts';
import { Fault, StoreCorrupt, StoreUnavailable } from '../../support/fault.ts';
import { thrownText } from '../../support/options.ts';
import { ContinueAsNew } from '../continue-as-new.ts';
import { failureOf } from '../failures.ts';
import type { AnyPipeline } from '../pipeline.ts';
import type { End } from './claim-exit.ts';
import { isRejection } from './guarded.ts';

export function endedBy(status: 'failed' | 'cancelled', error: unknown): End {
  return { status, ...failed(failureOf(error)) };
}

/** What the code asked for instead of its next call, when it ended by throwing: for people who look why. */
export function endBy(thrown: unknown): string {
  if (thrown instanceof ContinueAsNew) return 'its end';
  const name = thrown instanceof Error ? `${thrown.name}: ` : '';
  return `its end (it threw ${name}${thrownText(thrown).slice(0, 200)})`;
}

/** By their name: those of another realm, as under some test runners, count too. */
const BUGS: ReadonlySet<string> = new Set(['TypeError', 'ReferenceError']);

/** code that throws this is wrong, and says nothing about the work that it does. */
export function bugOf(pipeline: Pick<AnyPipeline, 'isBug'>, error: unknown): Failure | undefined {
  return !isRejection(error) && isBug(pipeline, error) ? failureOf(error) : undefined;
}

function isBug({ isBug: rule }: Pick<AnyPipeline, 'isBug'>, error: unknown): boolean {
  try {
    if (rule !== undefined) return rule(error) === true;
    return isNativeError(error) && BUGS.has(error.name);
  } catch {
    // A rule that throws is a bug, too.
    return true;
  }
}

export function bugText(failure: Failure): string {
  const thrown = `${failure.code}: ${locatedMessage(failure)}`;
  return `The code threw outside a step, and this looks like a bug: ${thrown}. Nothing was undone. Deploy code that is fixed, then resume the execution; or cancel it.`;
}

/** Trying again cannot help. */
export function endedForGood(error: unknown): End {
  return { status: 'failed', ...failed({ ...failureOf(error), category: 'permanent' }) };
}

export function poisoned(claimed: Claimed): End {
  return { status: 'quarantined', ...failed(poisonOf(claimed)) };
}

/** What code throws may be something that cannot even be asked what it is. */
export function lookable(thrown: unknown): unknown {
  try {
    void (thrown instanceof Error);
    return thrown;
  } catch {
    return new Error('Something was thrown that cannot be described.');
  }
}

/** With where it happened, if that can be told. */
export function stackOf(thrown: unknown): string {
  try {
    const { stack } = thrown as Error;
    return typeof stack === 'string' ? stack : thrownText(thrown);
  } catch {
    return thrownText(thrown);
  }
}

/** In place of a history that the store could not give. */
export class Unreadable {
  readonly why: string;

  constructor(why: string) {
    this.why = why;
  }
}

export function unreadable(fault: unknown): Unreadable {
  return new Unreadable(thrownText(fault));
}

/** Not the code's failure: a key that is missing here, a store that is broken or has been away too long. */
export function isOfTheStore(error: unknown): error is Fault {
  if (error instanceof StoreCorrupt || error instanceof StoreUnavailable) return true;
  return error instanceof Fault && error.code.startsWith('codec-');
}

function failed(failure: Failure): { readonly field: string; readonly failure: Failure } {
  return { field: `"failure":${JSON.stringify(failure)}`, failure };
}

function poisonOf({ execution }: Claimed): Failure {
  return {
    category: 'permanent',
    code: 'poison',
    message: `Its last ${execution.fruitlessClaims} claims recorded nothing, and the worker of each died or was lost. After the second it was tried beside no other such execution, by workers that had lived longer without it.`,
  };
}
