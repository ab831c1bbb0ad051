// Refusals of what is done with releases: every expected no, with what its reader needs to act on it.

import type { Status } from '../../execution/execution.ts';
import type { ExecutionId, PipelineName } from '../../execution/names.ts';
import { describeExecutionRefusal, type NoSuchRelease } from '../../execution/refusal.ts';
import { unreachable } from '../../support/assert.ts';

export type ReleaseRefusal =
  | NoSuchRelease
  /** Something else was registered under this name. */
  | {
      readonly why: 'release-differs';
      readonly pipeline: PipelineName;
      readonly name: string;
      readonly part: 'artifact' | 'digest' | 'contract';
    }
  /** It is active, or the candidate. */
  | { readonly why: 'release-in-use'; readonly pipeline: PipelineName; readonly name: string }
  | {
      readonly why: 'release-pinned';
      readonly pipeline: PipelineName;
      readonly name: string;
      readonly pinned: number;
    }
  | {
      readonly why: 'release-breaks';
      readonly pipeline: PipelineName;
      readonly name: string;
      /** For people, one each. */
      readonly breaks: readonly string[];
    }
  | { readonly why: 'force-without-reason' }
  | { readonly why: 'line-changed'; readonly pipeline: PipelineName; readonly version: number }
  | { readonly why: 'no-candidate'; readonly pipeline: PipelineName }
  /** A share of what has all the rest. */
  | { readonly why: 'already-active'; readonly pipeline: PipelineName; readonly name: string }
  | { readonly why: 'nothing-before'; readonly pipeline: PipelineName }
  /** A share of nothing: there is no active release that has the rest. */
  | { readonly why: 'nothing-active'; readonly pipeline: PipelineName };

export type MoveRefusal =
  | NoSuchRelease
  | { readonly why: 'execution-unknown'; readonly id: ExecutionId }
  | { readonly why: 'already-ended'; readonly id: ExecutionId; readonly status: Status }
  | { readonly why: 'move-while-running'; readonly id: ExecutionId }
  | { readonly why: 'pinned-elsewhere'; readonly id: ExecutionId; readonly release?: string }
  /** Its history does not fit the code of that release. */
  | {
      readonly why: 'move-breaks';
      readonly id: ExecutionId;
      readonly name: string;
      readonly because: string;
    }
  /** No worker of that release looked in time. */
  | { readonly why: 'move-unchecked'; readonly id: ExecutionId; readonly name: string }
  /** Something was recorded since it was looked at. */
  | { readonly why: 'execution-went-on'; readonly id: ExecutionId }
  | { readonly why: 'force-without-reason' };

/** What happened, why, and what to do next. */
export function describeReleaseRefusal(refusal: ReleaseRefusal | MoveRefusal): string {
  switch (refusal.why) {
    case 'release-unknown':
    case 'release-retired':
      return describeExecutionRefusal(refusal);
    case 'release-differs':
      return `Release "${refusal.name}" of pipeline "${refusal.pipeline}" is registered with another ${refusal.part}, and a release never changes. Give the new build a name of its own.`;
    case 'release-in-use':
      return `Release "${refusal.name}" of pipeline "${refusal.pipeline}" is active, or the candidate. Activate another one first.`;
    case 'release-pinned':
      return `${refusal.pinned === 1 ? 'One open execution is' : `${refusal.pinned} open executions are`} pinned to release "${refusal.name}" of pipeline "${refusal.pipeline}". Wait until ${refusal.pinned === 1 ? 'it has ended, or move it' : 'they have ended, or move them'}.`;
    case 'release-breaks':
      return `Release "${refusal.name}" of pipeline "${refusal.pipeline}" was not activated: it would break something. ${refusal.breaks.join(' ')} Change it, or force it with a reason.`;
    case 'force-without-reason':
      return 'What is forced needs a reason, for those who look it up later. Nothing was changed.';
    case 'line-changed':
      return `Somebody else changed the releases of pipeline "${refusal.pipeline}" meanwhile; its version is ${refusal.version}. Look again, then decide.`;
    case 'no-candidate':
      return `Pipeline "${refusal.pipeline}" has no candidate. Give a release a share first, or activate it.`;
    case 'already-active':
      return `Release "${refusal.name}" of pipeline "${refusal.pipeline}" is active already: it has all that no candidate has. Nothing was changed. To take the candidate back, roll back.`;
    case 'nothing-before':
      return `Pipeline "${refusal.pipeline}" has neither a candidate nor a release that it could go back to; it goes back once. Activate one by name.`;
    case 'nothing-active':
      return `Pipeline "${refusal.pipeline}" has no active release that would have the rest. Activate one first.`;
    case 'execution-unknown':
      return `Execution ${refusal.id} is not known in this project. Check the id and the project.`;
    case 'already-ended':
      return `Execution ${refusal.id} is ${refusal.status} and never changes again. To go on with another release, re-drive it.`;
    case 'move-while-running':
      return `Execution ${refusal.id} is running. Pause it, or wait until it is let go of, then move it.`;
    case 'pinned-elsewhere':
      return `Execution ${refusal.id} is pinned to ${refusal.release === undefined ? 'no release' : `release "${refusal.release}"`}, not to the one it was to be moved from. Nothing was changed.`;
    case 'move-breaks':
      return `Execution ${refusal.id} was not moved: release "${refusal.name}" would break it. ${refusal.because} Change the code, or force it with a reason.`;
    case 'move-unchecked':
      return `Execution ${refusal.id} was not moved: no worker of release "${refusal.name}" replayed it in time. Start one that has it, or force it with a reason.`;
    case 'execution-went-on':
      return `Execution ${refusal.id} has gone on since it was replayed. Nothing was changed; ask again.`;
    default:
      return unreachable(refusal);
  }
}
