// Finds workers that could take an execution: they are alive, run its pipeline and, if it is
// pinned, its release.

import type { ExecutionRecord } from '../execution/execution.ts';
import type { ProjectName } from '../execution/names.ts';
import {
  pinOf,
  type WorkerRecord,
  type WorkerState,
  workerState,
} from '../features/releases/model.ts';
import { namesIn, workerPages } from '../features/releases/port.ts';
import type { Submit } from '../store/contract/execution-store.ts';
import type { EngineConfig } from './config.ts';
import { SubmitRefused } from './failures.ts';

/** The most announced names in a list, so that a large fleet cannot fill the memory. */
const NAMES_MAX = 50_000;

/**
 * The workers of the project, all of them unless they announce too many names. The query filters by
 * project, so the workers of other projects do not add pages.
 */
export async function everyWorker(
  { store }: Pick<EngineConfig, 'store'>,
  project: ProjectName | undefined,
): Promise<readonly WorkerRecord[]> {
  const found: WorkerRecord[] = [];
  let names = 0;
  for await (const page of workerPages(store.executions, project)) {
    found.push(...page);
    names += namesIn(page);
    if (names > NAMES_MAX) break;
  }
  return found;
}

interface PossibleWorker {
  readonly name: string;
  /** The release that the worker announced, if it matches the registered one. */
  readonly release?: string;
  readonly state: WorkerState;
  readonly since: WorkerRecord['provedAt'];
}

/**
 * All workers that run the pipeline, except draining and gone ones. Includes stuck ones, which take
 * nothing.
 */
export async function possibleWorkers(
  config: EngineConfig,
  { project, pipeline, release }: Pick<ExecutionRecord, 'project' | 'pipeline' | 'release'>,
): Promise<readonly PossibleWorker[]> {
  const { executions } = config.store;
  // Only its `now` is used: the store's time, because the clock of this host may differ.
  const { now } = await executions.dueSchedules({ limit: 1 });
  const found: WorkerRecord[] = [];
  for await (const page of workerPages(executions, project)) {
    found.push(...page.filter(({ pipelines }) => pipelines.includes(pipeline)));
  }
  return found
    .filter((each) => release === undefined || each.release === release)
    .map((each) => ({
      name: each.owner,
      ...(each.release === undefined ? {} : { release: each.release }),
      state: workerState(each, now),
      since: each.provedAt,
    }))
    .filter(({ state }) => state !== 'gone' && state !== 'draining');
}

/**
 * For callers that prefer a refusal to waiting. The check promises nothing: a worker may leave
 * right after it (RE-12).
 */
export async function requireWorker(config: EngineConfig, submission: Submit): Promise<void> {
  const { pipeline } = submission;
  const rollout = await config.store.executions.rollout(submission);
  const release = submission.release ?? pinOf(rollout, submission);
  const about = { ...submission, ...(release === undefined ? {} : { release }) };
  const found = await possibleWorkers(config, about);
  if (found.some(({ state }) => state !== 'stuck')) return;
  throw new SubmitRefused({
    why: 'no-worker-for',
    pipeline,
    ...(release === undefined ? {} : { release }),
    stuck: found.length,
  });
}
