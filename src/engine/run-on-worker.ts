// Asks a worker to do something that needs the pipeline's code. The engine submits a short
// execution of its own, and the caller waits for its outcome.

import type { ExecutionId, ProjectName } from '../execution/names.ts';
import type { Outcome } from '../store/contract/execution-reads.ts';
import type { EngineConfig } from './config.ts';
import { submissionOf } from './submission.ts';

/** Waits for an execution to end. */
export type Ended = (id: ExecutionId, signal: AbortSignal) => Promise<Outcome>;

/**
 * The execution's deadline lies this long after the caller stopped waiting, so that it never stays
 * behind.
 */
const DEADLINE_EXTRA_MS = 5_000;

/** Returns no outcome when no worker finished in time. */
export async function runOnWorker(
  config: EngineConfig,
  ended: Ended,
  request: {
    readonly pipeline: string;
    readonly project: ProjectName;
    readonly input: unknown;
    readonly tag: string;
    readonly waitMs: number;
  },
): Promise<{ readonly id: ExecutionId; readonly outcome: Outcome | undefined }> {
  const { project, input, tag, waitMs } = request;
  const options = { project, deadlineMs: waitMs + DEADLINE_EXTRA_MS, tags: [tag], actor: tag };
  const submission = await submissionOf(config, request.pipeline, { input, options });
  const { id } = submission;
  await config.store.executions.submit(submission);
  const over = new AbortController();
  const stop = config.timers.after(waitMs, () => over.abort());
  try {
    return { id, outcome: await ended(id, over.signal) };
  } catch (error) {
    if (!over.signal.aborted) throw error;
    return { id, outcome: undefined };
  } finally {
    stop();
  }
}
