// What workers run beside what they were given.

import type { PipelineName } from '../../execution/names.ts';
import { replayName } from '../../execution/route.ts';
import {
  checkedAnswer,
  isRelayName,
  relayName,
  relayPipelines,
} from '../../features/awaits/answering-api.ts';
import { moveJobPipeline } from '../../features/releases/move-api.ts';
import { isReplayName, replayPipelines } from '../../features/releases/preflight-api.ts';
import { jobPipeline } from '../../features/repair/jobs-api.ts';
import { hasStore, type WorkerConfig } from '../config.ts';
import type { AnyPipeline } from '../pipeline.ts';
import type { WorkerSettings } from './worker-options.ts';

export interface EmployedSettings extends WorkerSettings {
  /** What it was given, without what the engine adds. */
  readonly given: WorkerSettings['pipelines'];
}

/** Answers are checked by whoever has their questions; bulk jobs are run by whoever runs anything. */
export function withOwn(config: WorkerConfig, settings: WorkerSettings): EmployedSettings {
  const given = settings.pipelines;
  const relays = relayPipelines(given.values(), (asked) => checkedAnswer(config, asked));
  const jobs = hasStore(config) ? [jobPipeline(config), moveJobPipeline(config)] : [];
  const replays = replayPipelines(config, settings);
  const own = [...relays, ...jobs, ...replays].map((each) => [each.name, each] as const);
  return { ...settings, pipelines: new Map([...given, ...own]), given };
}

/** Names of what the engine may add for a pipeline, for whoever asks for work on behalf of others. */
export function ownNamesFor(pipeline: PipelineName, release?: string): readonly PipelineName[] {
  const names = [
    relayName(pipeline),
    ...(release === undefined ? [] : [replayName(release, pipeline)]),
  ];
  return names as PipelineName[];
}

/** Of the engine's own, what workers elsewhere run as well: the rest acts on a store, which they have not. */
export function isAddedName(name: PipelineName): boolean {
  return isRelayName(name) || isReplayName(name);
}

/** Names of what the engine adds to these. */
export function addedFor(
  given: readonly AnyPipeline[],
  release: WorkerSettings['release'],
): readonly PipelineName[] {
  return given.flatMap(({ name, awaits = [] }) =>
    ownNamesFor(name, release?.name).filter(
      (each) => awaits.length > 0 || each !== relayName(name),
    ),
  );
}
