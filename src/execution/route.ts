// Routes: where an execution stands in line. Without a release that is its pipeline; pinned to one, pipeline and
// release, so that a claim finds only what its worker has, at the cost of a claim (ADR 0030).

import { InvalidInput } from '../support/fault.ts';
import { boundedText } from '../support/options.ts';
import type { PipelineName } from './names.ts';

/** In no name of a pipeline. */
export const ROUTE_MARK = '\u001f';

/** Replays for a preflight begin with it. */
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

/** The pipeline by which workers of a release are asked to replay (RE-10). */
export function replayName(release: string, pipeline: PipelineName): PipelineName {
  return `${REPLAY}/${release}/${pipeline}` as PipelineName;
}

/** RE-9: what is pinned, and what is asked of a release by name, is for who announced that release. */
export function isForAnnounced(route: string): boolean {
  return route.includes(ROUTE_MARK) || route.startsWith(`${REPLAY}/`);
}

/** Where a worker looks: what is pinned to no release, and what to the one it has. */
export function routesAsked({
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

/** The name of a release: one word, as it stands in lists, logs and on command lines. */
export function parseReleaseName(value: unknown, what = 'The name of a release'): string {
  const name = boundedText(what, value, RELEASE_BYTES_MAX);
  if (/^[\w.+:-]+$/.test(name)) return name;
  throw new InvalidInput(
    `${what} has letters, digits and . _ + : - only; got ${JSON.stringify(name)}.`,
  );
}
