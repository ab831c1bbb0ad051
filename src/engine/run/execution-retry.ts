// Decides whether an execution whose code threw runs again (X-133, ADR 0077).

import { decideRetry, type Failure } from '../../execution/failure.ts';
import type { CallKey } from '../../execution/names.ts';
import { failureOf, retryAfterOf } from '../failures.ts';
import { resolveRetry, ruleFor } from '../retry-options.ts';
import { readHistory } from '../store-replies.ts';
import type { ExecutionRetry } from './claim-exit.ts';
import { Ledger } from './ledger.ts';
import type { Run } from './run.ts';

/** Undefined if the failure is final. */
export function retryAfter(run: Run, error: unknown): Omit<ExecutionRetry, 'redo'> | undefined {
  const { executionRetry } = run.pipeline;
  if (executionRetry === undefined || run.cancelled !== undefined) return undefined;
  const retry = resolveRetry(executionRetry);
  const rule = ruleFor(retry, error);
  const failure = failureOf(error);
  const isFinal = rule === undefined ? failure.category === 'permanent' : rule.do === 'fail';
  // Unlike a step, an execution counts an attempt that was denied.
  const counted: Failure = { ...failure, category: isFinal ? 'permanent' : 'retryable' };
  const attempt = run.ledger.retries + 1;
  const afterMs = rule?.afterMs ?? retryAfterOf(error);
  const dice = run.config.random.next();
  const decision = decideRetry(
    retry.policy,
    { failed: attempt, denied: 0 },
    { failure: counted, dice, ...(afterMs === undefined ? {} : { afterMs }) },
  );
  if (decision.kind === 'give-up') return undefined;
  const { delayMs: retryInMs } = decision;
  const { deadlineAt = Infinity } = run.claimed.execution;
  // It would only end then, as past its deadline, and without this failure.
  return run.storeNow() + retryInMs >= deadlineAt ? undefined : { attempt, retryInMs, failure };
}

/** Undefined if recorded results do not let the code go on from the failure. */
export async function redoAfter(
  run: Run,
  again: Omit<ExecutionRetry, 'redo'>,
): Promise<ExecutionRetry | undefined> {
  await run.journal.settled();
  const { id, submittedAt } = run.claimed.execution;
  const history = await readHistory(run, id);
  const redo = new Ledger(history, submittedAt).redoOf(again.failure.at as CallKey | undefined);
  return redo && { ...again, ...redo };
}
