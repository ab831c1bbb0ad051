// What workers run beside what they were given.

import { checkedAnswer } from './answering.ts';
import type { EngineConfig } from './config.ts';
import { jobPipeline } from './jobs.ts';
import { relayPipelines } from './relay.ts';
import { replayPipelines } from './replaying.ts';
import type { WorkerSettings } from './worker-options.ts';

export interface EmployedSettings extends WorkerSettings {
  /** What it was given, without what the engine adds. */
  readonly given: WorkerSettings['pipelines'];
}

/** Answers are checked by whoever has their questions; bulk jobs are run by whoever runs anything. */
export function withOwn(config: EngineConfig, settings: WorkerSettings): EmployedSettings {
  const given = settings.pipelines;
  const relays = relayPipelines(given.values(), (asked) => checkedAnswer(config, asked));
  const jobs = config.store.executions.isTended === true ? [] : [jobPipeline(config)];
  const replays = replayPipelines(config, settings);
  const own = [...relays, ...jobs, ...replays].map((each) => [each.name, each] as const);
  return { ...settings, pipelines: new Map([...given, ...own]), given };
}
