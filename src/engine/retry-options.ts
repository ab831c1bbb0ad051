// Retry options, checked once and completed with defaults.

import { DEFAULT_RETRY, type RetryPolicy } from '../execution/failure.ts';
import { InvalidInput } from '../support/fault.ts';
import { integerOption, readList, readOptions, shown, wordsIn } from '../support/options.ts';
import type { RetryOptions, RetryRule } from './context.ts';

export interface ResolvedRetry {
  readonly policy: RetryPolicy;
  readonly rules: readonly RetryRule[];
}

const NAMES: readonly (keyof RetryOptions)[] = wordsIn(
  'attempts initialMs factor maxMs jitter rules',
);

const DEFAULT: ResolvedRetry = Object.freeze({ policy: DEFAULT_RETRY, rules: [] });

const resolved: WeakMap<RetryOptions, ResolvedRetry> = new WeakMap();

/** Options objects are usually constants, so the check of each runs once. */
export function resolveRetry(options: RetryOptions | undefined, what = 'retry'): ResolvedRetry {
  if (options === undefined) return DEFAULT;
  let known = resolved.get(options);
  if (known === undefined) {
    known = check(options, what);
    resolved.set(options, known);
  }
  return known;
}

function check(options: RetryOptions, what: string): ResolvedRetry {
  const { rules = [], ...given } = readOptions(what, options, NAMES);
  const policy = { ...DEFAULT_RETRY, ...given };
  integerOption(`${what}.attempts`, policy.attempts, { min: 1, max: 1_000_000 });
  integerOption(`${what}.initialMs`, policy.initialMs, { min: 0, max: 86_400_000 });
  integerOption(`${what}.maxMs`, policy.maxMs, { min: 0, max: 30 * 86_400_000 });
  between(`${what}.factor`, policy.factor, [1, 100]);
  between(`${what}.jitter`, policy.jitter, [0, 1]);
  return { policy, rules: readList(`${what}.rules`, rules).map(checkedRule) };
}

function checkedRule(given: unknown): RetryRule {
  const rule = readOptions('retry.rules', given as RetryRule, ['when', 'do', 'afterMs']);
  if (typeof rule.when !== 'string' && typeof rule.when !== 'function') {
    throw new InvalidInput(
      `retry.rules: when must be a code, a name or a function; got ${shown(rule.when)}.`,
    );
  }
  if (rule.do !== 'retry' && rule.do !== 'fail') {
    throw new InvalidInput(`retry.rules: do must be "retry" or "fail"; got ${shown(rule.do)}.`);
  }
  if (rule.afterMs !== undefined) {
    integerOption('retry.rules: afterMs', rule.afterMs, { min: 0, max: 30 * 86_400_000 });
  }
  return rule;
}

function between(what: string, value: unknown, [min, max]: readonly [number, number]): void {
  if (typeof value !== 'number' || !(value >= min && value <= max)) {
    throw new InvalidInput(`${what} must be between ${min} and ${max}; got ${shown(value)}.`);
  }
}

export function ruleFor(retry: ResolvedRetry, error: unknown): RetryRule | undefined {
  return retry.rules.find(({ when }) => {
    if (typeof when === 'function') return matches(when, error);
    return matches((thrown) => {
      const { code, name } = (thrown ?? {}) as { code?: unknown; name?: unknown };
      return code === when || name === when;
    }, error);
  });
}

/** A rule that throws does not match, so the failure's category decides. */
function matches(when: (error: unknown) => boolean, error: unknown): boolean {
  try {
    return when(error);
  } catch {
    return false;
  }
}
