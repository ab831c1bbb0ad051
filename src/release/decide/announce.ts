// Whether a worker is what it says it is (RE-9). Pure.

import type { PipelineName } from '../../execution/names.ts';
import type { NoSuchRelease } from '../../execution/refusal.ts';
import { replayName, routeOf } from '../../execution/route.ts';
import type { ReleaseRefusal } from '../refusal.ts';
import type { Release } from '../release.ts';
import type { Announcement } from '../worker.ts';

type Refusal = NoSuchRelease | Extract<ReleaseRefusal, { readonly why: 'release-differs' }>;

type Registered = Pick<
  Release,
  'project' | 'pipeline' | 'name' | 'digest' | 'contractVersion' | 'retiredAt'
>;

/** `registered`: those of this name that are in its reach. Pipelines without a release of this name are run without one. */
export function refuseAnnouncement(
  registered: readonly Registered[],
  { release, pipelines }: Pick<Announcement, 'release' | 'pipelines'>,
): Refusal | undefined {
  if (release === undefined) return undefined;
  const { name } = release;
  const own = registered.filter(({ pipeline }) => pipelines.includes(pipeline));
  if (own.length === 0) {
    return { why: 'release-unknown', pipeline: pipelines[0] ?? ('' as PipelineName), name };
  }
  for (const each of own) {
    const { pipeline } = each;
    if (each.retiredAt !== undefined) return { why: 'release-retired', pipeline, name };
    if (each.digest !== release.digest) {
      return { why: 'release-differs', pipeline, name, part: 'digest' };
    }
    if (each.contractVersion !== release.contracts[pipeline]) {
      return { why: 'release-differs', pipeline, name, part: 'contract' };
    }
  }
  return undefined;
}

/** What it may claim of what is pinned, and of what is asked of its release: project and route. */
export function routesOf(
  registered: readonly Registered[],
  { pipelines }: Pick<Announcement, 'pipelines'>,
): readonly string[] {
  return registered
    .filter(({ pipeline }) => pipelines.includes(pipeline))
    .flatMap(({ project, pipeline, name }) => [
      `${project}\0${routeOf({ pipeline, release: name })}`,
      `${project}\0${replayName(name, pipeline)}`,
    ]);
}
