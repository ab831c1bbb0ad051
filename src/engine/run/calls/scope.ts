// A block of code with a cleanup. After a cancel, the calls of the cleanup still run and are recorded
// . The block has no event of its own: its calls, and the cancel, are in the history.

import {
  integerOption,
  readOptions,
  requireFunction,
  TEN_YEARS_MS,
} from '../../../support/options.ts';
import type { Context, ScopeOptions } from '../../context.ts';
import { ignored } from '../guarded.ts';
import type { Run } from '../run.ts';

const CLEANUP_MS = 300_000;

export function scopeOptions(block: unknown, given: ScopeOptions): Required<ScopeOptions> {
  requireFunction('ctx.scope: the first argument', block);
  const options = readOptions('ctx.scope', given, ['onCancel', 'cleanupMs']);
  const { onCancel, cleanupMs = CLEANUP_MS } = options;
  requireFunction('ctx.scope: onCancel', onCancel);
  integerOption('cleanupMs', cleanupMs, { min: 1, max: TEN_YEARS_MS });
  return { onCancel, cleanupMs };
}

export function runScope<Output>(
  run: Run,
  block: () => Output | Promise<Output>,
  options: Required<ScopeOptions> & { readonly cleanup: Context },
): Promise<Output> {
  const result = runInScope(run, block, options);
  // The error is the code's own, so it may be a bug: it is no rejection of `ctx`.
  result.catch(ignored);
  return result;
}

async function runInScope<Output>(
  run: Run,
  block: () => Output | Promise<Output>,
  { onCancel, cleanupMs, cleanup }: Required<ScopeOptions> & { readonly cleanup: Context },
): Promise<Output> {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const scope = { cleanupMs, ended };
  run.scopes.add(scope);
  try {
    return await block();
  } catch (error) {
    const { cancelled } = run;
    if (cancelled !== undefined && !run.isOver) {
      run.beginCleanup();
      try {
        await onCancel(cleanup, cancelled);
      } catch (failure) {
        run.cleanupFailure ??= { error: failure };
      }
    }
    throw error;
  } finally {
    run.scopes.delete(scope);
    resolve();
  }
}
