// Routes: the queue in which an execution waits. Its pipeline is the route, or pipeline and release
// if it is pinned. So a claim finds only executions that its worker can run, at no extra cost (ADR
// 0030).

import { InvalidInput } from '../support/fault.ts';
import { boundedText } from '../support/options.ts';
import type { PipelineName } from './names.ts';

/** No pipeline name contains this character. */
export const ROUTE_MARK = '\u001f';

/** The prefix of replays for a preflight. */
export const REPLAY = 'holdfast.replay';

const RELEASE_BYTES_MAX = 128;

export interface Routed {
  readonly pipeline: PipelineName;
  readonly release?: string;
}

export function routeOf({ pipeline, release }: Routed): PipelineName {
  return release === undefined ? pipeline : (`${pipeline}${ROUTE_MARK}${release}` as PipelineName);
}

export function parseRoute(route: string): Routed {
  const at = route.indexOf(ROUTE_MARK);
  if (at < 0) return { pipeline: route as PipelineName };
  return { pipeline: route.slice(0, at) as PipelineName, release: route.slice(at + 1) };
}

/** The pipeline through which workers of a release replay executions (RE-10). */
export function replayName(release: string, pipeline: PipelineName): PipelineName {
  return `${REPLAY}/${release}/${pipeline}` as PipelineName;
}

/**
 * Pinned executions, and replays for a release, are only for workers that announced that release
 * (RE-9).
 */
export function isForAnnounced(route: string): boolean {
  return route.includes(ROUTE_MARK) || route.startsWith(`${REPLAY}/`);
}

/** The queues that a worker reads: executions without a pin, and those pinned to its release. */
export function claimRoutes({
  pipelines,
  release,
}: {
  readonly pipelines: readonly PipelineName[];
  readonly release?: string;
}): readonly PipelineName[] {
  const own = [...new Set(pipelines)];
  if (release === undefined) return own;
  return [...own, ...own.map((pipeline) => routeOf({ pipeline, release }))];
}

/** The name of a release: one word, because it appears in lists, logs and on command lines. */
export function parseReleaseName(value: unknown, what = 'The name of a release'): string {
  const name = boundedText(what, value, RELEASE_BYTES_MAX);
  if (/^[\w.+:-]+$/.test(name)) return name;
  throw new InvalidInput(
    `${what} must have only letters, digits and . _ + : -; got ${JSON.stringify(name)}.`,
  );
}
