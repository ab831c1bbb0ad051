// What a handler has, as it says when it is asked, and what it turns away.

import { contractsOf } from '../engine/announcer.ts';
import { addedFor } from '../engine/own-pipelines.ts';
import type { AnyPipeline } from '../engine/pipeline.ts';
import type { WorkerRelease } from '../engine/worker-options.ts';
import type { ExecutionRecord } from '../execution/execution.ts';
import type { PushResult } from '../protocol/messages/push.ts';

export type Offered = Pick<PushResult, 'pipelines' | 'release'>;

/** What the engine adds reads more than its own execution: it needs a way back. */
export function offeredBy(
  given: Iterable<AnyPipeline>,
  release: WorkerRelease | undefined,
  hasWayBack: boolean,
): Offered {
  const own = [...given];
  const added = hasWayBack ? addedFor(own, release) : [];
  return {
    pipelines: [...own.map(({ name }) => name), ...added],
    ...(release === undefined ? {} : { release: { ...release, ...contractsOf(own) } }),
  };
}

/** Undefined when it can be driven here. */
export function denialOf(
  { pipeline, release }: ExecutionRecord,
  { pipelines, release: own }: Offered,
): string | undefined {
  if (pipelines?.includes(pipeline) !== true) return `There is no pipeline "${pipeline}" here.`;
  if (release === undefined || release === own?.name) return undefined;
  return `It is pinned to release "${release}"; here is ${own === undefined ? 'none' : `"${own.name}"`}.`;
}
