// Who could ever take an execution: workers that live, have its pipeline and, where it is pinned, its release.

import type { ExecutionRecord } from '../execution/execution.ts';
import { pinOf } from '../release/release.ts';
import { type WorkerRecord, type WorkerState, workerState } from '../release/worker.ts';
import type { Submit } from '../store/contract/execution-store.ts';
import type { EngineConfig } from './config.ts';
import { SubmitRefused } from './failures.ts';

const PAGE = 1_000;

export interface PossibleWorker {
  readonly name: string;
  readonly state: WorkerState;
  readonly since: WorkerRecord['provedAt'];
}

export interface WorkerInfo extends WorkerRecord {
  readonly is: WorkerState;
}

/** All that are known. */
export async function allWorkers({ store }: EngineConfig): Promise<readonly WorkerInfo[]> {
  const { executions } = store;
  const found: WorkerRecord[] = [];
  for (let isMore = true; isMore; ) {
    const last = found.at(-1)?.session;
    const from = last === undefined ? {} : { after: last };
    const page = await executions.workers({ limit: PAGE, ...from });
    found.push(...page);
    isMore = page.length === PAGE;
  }
  // For its time: that of this host may be another.
  const { now } = await executions.dueSchedules({ limit: 1 });
  return found.map((each) => ({ ...each, is: workerState(each, now) }));
}

/** All that have it and are not gone, also those that take nothing. */
export async function possibleWorkers(
  config: EngineConfig,
  { project, pipeline, release }: Pick<ExecutionRecord, 'project' | 'pipeline' | 'release'>,
): Promise<readonly PossibleWorker[]> {
  return (await allWorkers(config))
    .filter((each) => each.pipelines.includes(pipeline))
    .filter((each) => each.project === undefined || each.project === project)
    .filter((each) => release === undefined || each.release === release)
    .map((each) => ({
      name: each.owner,
      state: each.is,
      since: each.provedAt,
    }))
    .filter(({ state }) => state !== 'gone' && state !== 'draining');
}

/** RE-12: as the caller chose. It is a look, not a promise: who is there now may be gone in a moment. */
export async function requireWorker(
  config: EngineConfig,
  submission: Submit,
  choice: 'wait' | 'refuse' | undefined,
): Promise<void> {
  if (choice !== 'refuse') return;
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
