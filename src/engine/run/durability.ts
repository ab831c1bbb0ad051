// Results may reach the code before they are durable: the checkpoint policy says when they become so.

import type { Payload } from '../../execution/names.ts';
import type { Run } from './run.ts';

const PROGRESS_MS = 1_000;

/** Whether the next result need not be durable before the code gets it. */
export function mayBeSoft({ pipeline, journal, ledger }: Run): boolean {
  const policy = pipeline.checkpoint;
  // What is on its way to the code is delivered first, as a replay will do it.
  if (journal.isDelivering || ledger.settlements.length > 0) return false;
  // The step that fills the measure waits until all of them are durable.
  if (policy.every === 'steps') return journal.waiting + 1 < policy.steps;
  return policy.every !== 'step';
}

/** The code has a result that is not durable yet. */
export function softened({ pipeline, journal }: Run): void {
  const policy = pipeline.checkpoint;
  if (policy.every === 'time') journal.flushWithin(policy.ms);
}

/** Kept with the next write, or by itself after a second. */
export function reportProgress({ journal }: Run, progress: Payload): void {
  journal.report(progress);
  journal.flushWithin(PROGRESS_MS);
}
