// Workers that could take an execution: they live, have its pipeline and, if it is pinned, its release.

import type { ExecutionRecord } from '../execution/execution.ts';
import type { ProjectName } from '../execution/names.ts';
import {
  pinOf,
  type WorkerRecord,
  type WorkerState,
  workerState,
} from '../features/releases/model.ts';
import type { SessionId } from '../lease/names.ts';
import type { Submit } from '../store/contract/execution-store.ts';
import type { EngineConfig } from './config.ts';
import { SubmitRefused } from './failures.ts';

const PAGE = 1_000;

/** All that work for it, page after page: how many others have is no matter. */
export async function everyWorker(
  config: Pick<EngineConfig, 'store'>,
  project: ProjectName | undefined,
): Promise<readonly WorkerRecord[]> {
  const found: WorkerRecord[] = [];
  for (let after: SessionId | undefined; ; ) {
    const query = { limit: PAGE, ...(project && { project }), ...(after && { after }) };
    const page = await config.store.executions.workers(query);
    found.push(...page);
    after = page.at(-1)?.session;
    if (page.length < PAGE) return found;
  }
}

interface PossibleWorker {
  readonly name: string;
  /** The one it announced, if that is what is registered. */
  readonly release?: string;
  readonly state: WorkerState;
  readonly since: WorkerRecord['provedAt'];
}

/** All that have it and are not gone, also those that take nothing. */
export async function possibleWorkers(
  config: EngineConfig,
  { project, pipeline, release }: Pick<ExecutionRecord, 'project' | 'pipeline' | 'release'>,
): Promise<readonly PossibleWorker[]> {
  const { executions } = config.store;
  const [all, { now }] = await Promise.all([
    everyWorker(config, project),
    // For its time: that of this host may be another.
    executions.dueSchedules({ limit: 1 }),
  ]);
  return all
    .filter((each) => each.pipelines.includes(pipeline))
    .filter((each) => release === undefined || each.release === release)
    .map((each) => ({
      name: each.owner,
      ...(each.release === undefined ? {} : { release: each.release }),
      state: workerState(each, now),
      since: each.provedAt,
    }))
    .filter(({ state }) => state !== 'gone' && state !== 'draining');
}

/** RE-12, for who would rather not wait. It is a look, not a promise: who is there now may be gone in a moment. */
export async function requireWorker(config: EngineConfig, submission: Submit): Promise<void> {
  const { pipeline } = submission;
  const line = await config.store.executions.line(submission);
  const release = submission.release ?? pinOf(line, submission);
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
