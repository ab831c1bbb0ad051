// Another release for one execution. Whether its code fits what is recorded, a worker that has it says first; what was
// recorded meanwhile is looked at anew (RE-8).

import type { EngineConfig } from '../../engine/config.ts';
import { ReleaseRefused } from '../../engine/failures.ts';
import type { Acting } from '../../engine/holdfast.ts';
import { commandOf } from '../../engine/requests.ts';
import { projectOf } from '../../engine/submission.ts';
import { isTerminal } from '../../execution/execution.ts';
import {
  type ExecutionId,
  NAME_BYTES_MAX,
  type ProjectName,
  parseExecutionId,
  parsePipelineName,
  parseProject,
} from '../../execution/names.ts';
import { parseReleaseName } from '../../execution/route.ts';
import { InvalidInput } from '../../support/fault.ts';
import { boundedText, optionalBooleans, readOptions, wholeNumber } from '../../support/options.ts';
import { ACTING, checkedActing, stampOf } from '../audit/api.ts';
import type { JobInput } from '../repair/jobs-api.ts';
import type { MoveJobInput } from './move-job-api.ts';
import type { ExecutionMoved, MoveExecution } from './port.ts';
import type { MoveRefusal } from './refusal-model.ts';
import { type Ended, replayElsewhere } from './replaying-api.ts';

export interface MoveOptions extends Acting {
  /** Only from this release; null is none. */
  readonly from?: string | null;
  /** Without a look at whether its history fits; needs a reason. */
  readonly force?: boolean;
  /** How long a worker of that release has to look. Default 30 s. */
  readonly waitMs?: number;
}

type Refusal = { readonly kind: 'refused' } & MoveRefusal;

export async function move(
  config: EngineConfig,
  ended: Ended,
  asked: { readonly id: string; readonly to: string; readonly options: MoveOptions },
): Promise<ExecutionMoved> {
  const names = [...ACTING, 'from', 'force', 'waitMs'];
  const given = readOptions('releases.move', asked.options, names);
  const { from, force = false, waitMs = 30_000, ...acting } = given;
  optionalBooleans('releases.move', { force: given.force });
  wholeNumber('waitMs', waitMs, { min: 1, max: 3_600_000 });
  const to = parseReleaseName(asked.to);
  const { project, body } = commandOf('releases.move', asked.id, acting);
  const request: MoveExecution = {
    ...{ id: parseExecutionId(asked.id), project, body, to },
    ...(from === undefined ? {} : { from: from === null ? null : parseReleaseName(from, 'from') }),
    audit: stampOf(config, 'move', acting),
  };
  if (force) {
    return checkedActing(acting).reason === ''
      ? { kind: 'refused', why: 'force-without-reason' }
      : config.store.executions.moveExecution(request);
  }
  const looked = await look(config, ended, { request, waitMs });
  if (typeof looked === 'object') return looked;
  const seen = looked === undefined ? {} : { seq: looked };
  return config.store.executions.moveExecution({ ...request, ...seen });
}

/** How far its history was when it was found to fit; undefined where the store has the answer. */
async function look(
  config: EngineConfig,
  ended: Ended,
  { request, waitMs }: { readonly request: MoveExecution; readonly waitMs: number },
): Promise<number | undefined | Refusal> {
  const { executions } = config.store;
  const { id, project, to: name } = request;
  const seen = await executions.read(id);
  if (seen === undefined || seen.project !== project || seen.release === name) return undefined;
  if (isTerminal(seen.status) || seen.status === 'running') return undefined;
  const { pipeline, seq } = seen;
  const release = await executions.release({ project, pipeline, name });
  if (release === undefined || release.retiredAt !== undefined) return undefined;
  const { digest } = release;
  const about = { project, pipeline, release: name, digest, executions: [id], waitMs };
  const found = await replayElsewhere(config, ended, about);
  if (found === undefined) return { kind: 'refused', why: 'move-unchecked', id, name };
  const [broken] = found;
  return broken === undefined ? seq : breaking(id, name, broken.why);
}

function breaking(id: ExecutionId, name: string, because: string): Refusal {
  return { kind: 'refused', why: 'move-breaks', id, name, because };
}

// What `bulk.move` is asked for: which executions, and a release that they can go to.

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
