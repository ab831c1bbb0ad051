// What `bulk.move` is asked for: which executions, and a release that they can go to.

import {
  NAME_BYTES_MAX,
  type ProjectName,
  parsePipelineName,
  parseProject,
} from '../execution/names.ts';
import { parseReleaseName } from '../execution/route.ts';
import { InvalidInput } from '../support/fault.ts';
import { boundedText, optionalBooleans, readOptions } from '../support/options.ts';
import type { EngineConfig } from './config.ts';
import { ReleaseRefused } from './failures.ts';
import type { Acting } from './holdfast-types.ts';
import type { JobInput } from './jobs.ts';
import type { MoveJobInput } from './move-job.ts';
import { projectOf } from './submission.ts';

export type AnyJobInput = JobInput | MoveJobInput;

export interface BulkMoveOptions extends Omit<Acting, 'project'> {
  readonly filter: {
    readonly project?: string;
    readonly pipeline: string;
    /** What they are pinned to; null is nothing. */
    readonly release: string | null;
  };
  /** The release that they are to go to. */
  readonly to: string;
  readonly perSecond?: number;
  readonly dryRun?: boolean;
  readonly key?: string;
}

/** Throws ReleaseRefused where no job could move anything. */
export async function movable(
  { store }: EngineConfig,
  given: BulkMoveOptions,
): Promise<Pick<MoveJobInput, 'filter' | 'to'> & { readonly project: ProjectName }> {
  const { filter, to: name } = filterOf(given);
  optionalBooleans('bulk.move', { dryRun: given.dryRun });
  if (given.key !== undefined) boundedText('key', given.key, NAME_BYTES_MAX);
  const project = projectOf(filter.project);
  const pipeline = parsePipelineName(filter.pipeline);
  const release = await store.executions.release({ project, pipeline, name });
  if (release === undefined) throw new ReleaseRefused({ why: 'release-unknown', pipeline, name });
  if (release.retiredAt !== undefined) {
    throw new ReleaseRefused({ why: 'release-retired', pipeline, name });
  }
  return { filter, to: name, project };
}

function filterOf(given: BulkMoveOptions): Pick<MoveJobInput, 'filter' | 'to'> {
  const names = ['project', 'pipeline', 'release'] as const;
  const filter = readOptions('bulk.move filter', given.filter, names);
  const { project, release } = filter;
  if (project !== undefined) parseProject(project);
  const to = parseReleaseName(given.to, 'to');
  if (release === to) {
    throw new InvalidInput(`bulk.move: to and filter.release are both "${to}": nothing to move.`);
  }
  return {
    filter: {
      ...(project === undefined ? {} : { project }),
      pipeline: parsePipelineName(filter.pipeline),
      release: release === null ? null : parseReleaseName(release, 'filter.release'),
    },
    to,
  };
}
