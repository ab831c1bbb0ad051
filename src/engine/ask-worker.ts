// What only a worker can do, because it has the code: a short execution of the engine's own, which somebody waits for.

import type { ExecutionId, ProjectName } from '../execution/names.ts';
import type { Outcome } from '../store/contract/execution-store.ts';
import type { EngineConfig } from './config.ts';
import { submissionOf } from './submission.ts';

/** Waits for an execution to end. */
export type Ended = (id: ExecutionId, signal: AbortSignal) => Promise<Outcome>;

/** It ends by itself when nobody is left who waits for it. */
const DEADLINE_EXTRA_MS = 5_000;

/** The outcome is undefined when no worker was done in time. */
export async function askWorker(
  config: EngineConfig,
  ended: Ended,
  asked: {
    readonly pipeline: string;
    readonly project: ProjectName;
    readonly input: unknown;
    readonly tag: string;
    readonly waitMs: number;
  },
): Promise<{ readonly id: ExecutionId; readonly outcome: Outcome | undefined }> {
  const { project, input, tag, waitMs } = asked;
  const options = { project, deadlineMs: waitMs + DEADLINE_EXTRA_MS, tags: [tag], by: tag };
  const submission = await submissionOf(config, asked.pipeline, { input, options });
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
