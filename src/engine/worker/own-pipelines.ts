// The pipelines that the engine adds to those of a worker.

import type { PipelineName } from '../../execution/names.ts';
import { replayName } from '../../execution/route.ts';
import {
  checkedAnswer,
  isRelayName,
  relayName,
  relayPipelines,
} from '../../features/awaits/answering-api.ts';
import { isReplayName, replayPipelines } from '../../features/releases/preflight-api.ts';
import { repinJobPipeline } from '../../features/releases/repin-api.ts';
import { jobPipeline } from '../../features/repair/jobs-api.ts';
import { isQueryName, queryName, queryPipelines } from '../../features/updates/query-api.ts';
import { hasStore, type WorkerConfig } from '../config.ts';
import type { AnyPipeline } from '../pipeline.ts';
import type { WorkerSettings } from './worker-options.ts';

export interface OwnWorkerSettings extends WorkerSettings {
  /** The user's pipelines, without those that the engine adds. */
  readonly given: WorkerSettings['pipelines'];
}

/**
 * Workers with questions get pipelines that check answers; embedded workers also get the bulk jobs.
 */
export function withOwn(config: WorkerConfig, settings: WorkerSettings): OwnWorkerSettings {
  const given = settings.pipelines;
  const relays = relayPipelines(given.values(), (check) => checkedAnswer(config, check));
  const jobs = hasStore(config) ? [jobPipeline(config), repinJobPipeline(config)] : [];
  const replays = replayPipelines(config, settings);
  const queries = queryPipelines(config, given.values());
  const own = [...relays, ...queries, ...jobs, ...replays].map(
    (each) => [each.name, each] as const,
  );
  return { ...settings, pipelines: new Map([...given, ...own]), given };
}

/**
 * The names of the pipelines that the engine may add for this one, for claims on behalf of other
 * workers.
 */
export function ownNamesFor(pipeline: PipelineName, release?: string): readonly PipelineName[] {
  const names = [
    relayName(pipeline),
    queryName(pipeline),
    ...(release === undefined ? [] : [replayName(release, pipeline)]),
  ];
  return names as PipelineName[];
}

/**
 * True if remote workers run it too. The engine's other pipelines need direct access to the store.
 */
export function isAddedName(name: PipelineName): boolean {
  return isRelayName(name) || isQueryName(name) || isReplayName(name);
}

/** The names of the pipelines that the engine adds to these. */
export function addedFor(
  given: readonly AnyPipeline[],
  release: WorkerSettings['release'],
): readonly PipelineName[] {
  return given.flatMap(({ name, awaits = [], queries = [] }) =>
    ownNamesFor(name, release?.name).filter(
      (each) =>
        (awaits.length > 0 || each !== relayName(name)) &&
        (queries.length > 0 || each !== queryName(name)),
    ),
  );
}
