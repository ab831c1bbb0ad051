// Another release for one execution. Whether its code fits what is recorded, a worker that has it says first; what was
// recorded meanwhile is looked at anew (RE-8).

import { isTerminal } from '../execution/execution.ts';
import { type ExecutionId, parseExecutionId } from '../execution/names.ts';
import { parseReleaseName } from '../execution/route.ts';
import type { MoveRefusal } from '../release/refusal.ts';
import type { ExecutionMoved, MoveExecution } from '../store/contract/release-store.ts';
import { optionalBooleans, readOptions, wholeNumber } from '../support/options.ts';
import { ACTING, checkedActing, stampOf } from './auditing.ts';
import { commandOf } from './command-of.ts';
import type { EngineConfig } from './config.ts';
import type { Acting } from './holdfast-types.ts';
import { type Ended, replayElsewhere } from './replaying.ts';

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
