// Refusals of execution operations: every expected no, with the facts that its reader needs.

import type { AwaitStatus } from '../features/awaits/model.ts';
import { type Fence, formatFence } from '../lease/fence.ts';
import { unreachable } from '../support/assert.ts';
import { formatInstant, type Instant } from '../support/clock.ts';
import type { Status } from './execution.ts';
import type { ExecutionId, InteractionId, PipelineName } from './names.ts';

/**
 * Why the store refused a write of a worker. Nothing was written.
 *
 * - `execution-unknown`: there is no such execution.
 * - `superseded`: another worker has a newer claim.
 * - `not-running`: the execution is not running.
 * - `claim-ended`: the session of the claim has ended.
 * - `fence-ahead`: the store never issued this fence.
 * - `seq-taken`: another event has this number.
 */
export type OwnerRefusal =
  | { readonly why: 'execution-unknown'; readonly id: ExecutionId }
  | {
      readonly why: 'superseded';
      readonly id: ExecutionId;
      readonly fence: Fence;
      readonly newest: Fence;
      readonly status: Status;
    }
  | { readonly why: 'not-running'; readonly id: ExecutionId; readonly status: Status }
  | { readonly why: 'claim-ended'; readonly id: ExecutionId; readonly fence: Fence }
  | { readonly why: 'fence-ahead'; readonly id: ExecutionId; readonly fence: Fence }
  | {
      readonly why: 'seq-taken';
      readonly id: ExecutionId;
      readonly seq: number;
    };

/**
 * For a park, or a give-back that follows a message: a message arrived that the owner has not read.
 */
export interface UnreadRefusal {
  readonly why: 'unread-messages';
  readonly id: ExecutionId;
  readonly inboxCount: number;
}

/**
 * Why a submission was refused. Nothing was written.
 *
 * - `key-conflict`: execution `id` has this `key` with other content.
 * - `id-taken`: the `id` exists.
 * - `release-unknown`, `release-retired`: the release does not exist, or takes no new executions.
 * - `no-worker-for`: no live worker serves this `pipeline` and `release`; `stuck` ones have it and
 *   take no work.
 */
export type SubmitRefusal =
  | { readonly why: 'key-conflict'; readonly key: string; readonly id: ExecutionId }
  | { readonly why: 'id-taken'; readonly id: ExecutionId }
  | NoSuchRelease
  | {
      readonly why: 'no-worker-for';
      readonly pipeline: PipelineName;
      readonly release?: string;
      /** How many live workers have the release and take no work. */
      readonly stuck: number;
    };

/**
 * Why a named release cannot be used: `release-unknown` or `release-retired`. `name` is that of the
 * release.
 */
export type NoSuchRelease =
  | { readonly why: 'release-unknown'; readonly pipeline: PipelineName; readonly name: string }
  | { readonly why: 'release-retired'; readonly pipeline: PipelineName; readonly name: string };

/**
 * Why an operation on an execution was refused. Nothing was written.
 *
 * - `execution-unknown`: there is no execution `id` in this project.
 * - `already-ended`: it has ended as `status`.
 * - `deadline-passed`: its deadline passed at `at`, so no code would receive the signal.
 */
export type CommandRefusal =
  | { readonly why: 'execution-unknown'; readonly id: ExecutionId }
  | { readonly why: 'already-ended'; readonly id: ExecutionId; readonly status: Status }
  | { readonly why: 'deadline-passed'; readonly id: ExecutionId; readonly at: Instant };

export type ClaimRefusal =
  | { readonly why: 'session-not-live' }
  | { readonly why: 'halted'; readonly presented: Fence };

/**
 * Why an operation on a template was refused. Nothing was written.
 *
 * - `template-conflict`: this `version` of template `id` exists with other content. A version never
 *   changes.
 * - `template-unknown`: there is no such template or version.
 */
export type TemplateRefusal =
  | { readonly why: 'template-conflict'; readonly id: string; readonly version: number }
  | { readonly why: 'template-unknown'; readonly id: string; readonly version?: number };

/** Why an operation on a schedule was refused. Nothing was written. */
export interface ScheduleRefusal {
  /** There is no such schedule. */
  readonly why: 'schedule-unknown';
  /** The id that was given. */
  readonly id: string;
}

/**
 * Why an operation on an interaction was refused. Nothing was written.
 *
 * - `await-unknown`: there is no interaction `id`.
 * - `answer-conflict`: it has another answer, given at `at` by `actor`.
 * - `answer-late`: its await has settled as `status`.
 * - `link-required`: it can only be answered with a signed link.
 * - `await-settled`: its await has settled as `status`.
 */
export type AwaitRefusal =
  | { readonly why: 'await-unknown'; readonly id: InteractionId }
  | {
      readonly why: 'answer-conflict';
      readonly id: InteractionId;
      /** The actor of the answer that won. */
      readonly actor?: string;
      readonly at: Instant;
    }
  | { readonly why: 'answer-late'; readonly id: InteractionId; readonly status: AwaitStatus }
  | { readonly why: 'link-required'; readonly id: InteractionId }
  | { readonly why: 'await-settled'; readonly id: InteractionId; readonly status: AwaitStatus };

/** Why an answer link was refused: `link-invalid`, or `link-expired` since `at`. */
export type LinkRefusal =
  | { readonly why: 'link-invalid' }
  | { readonly why: 'link-expired'; readonly at: Instant };

/**
 * Why an answer to interaction `id` was refused. Nothing was written.
 *
 * - `question-unknown`: this process does not have the code of `pipeline` that checks the answer.
 * - `no-worker`: only a worker could check the answer, and none did in time.
 * - `answer-too-early`: the execution has not asked yet, and the answer cannot be checked before.
 *
 * The other reasons are those of `AwaitRefusal` and `LinkRefusal`.
 */
export type AnswerRefusal =
  | AwaitRefusal
  | LinkRefusal
  | {
      /** The process that took the answer does not have the code that checks it. */
      readonly why: 'question-unknown';
      readonly id: InteractionId;
      readonly pipeline: PipelineName;
    }
  | {
      /** Only a worker could check the answer, and none did in time. */
      readonly why: 'no-worker';
      readonly id: InteractionId;
      readonly pipeline: PipelineName;
    }
  | { readonly why: 'answer-too-early'; readonly id: InteractionId };

/**
 * Why a re-drive was refused. Nothing was written.
 *
 * - `not-ended`: execution `id` has not ended; its `status` is given.
 * - `redrive-open`: it has a re-drive `open` that has not ended.
 */
export type RedriveRefusal =
  | { readonly why: 'not-ended'; readonly id: ExecutionId; readonly status: Status }
  | { readonly why: 'redrive-open'; readonly id: ExecutionId; readonly open: ExecutionId };

/**
 * Why an operation on executions was refused. `why` is the stable code; `describeExecutionRefusal`
 * explains it.
 */
export type ExecutionRefusal =
  | AnswerRefusal
  | RedriveRefusal
  | OwnerRefusal
  | UnreadRefusal
  | SubmitRefusal
  | CommandRefusal
  | ClaimRefusal
  | TemplateRefusal
  | ScheduleRefusal;

/**
 * Returns a sentence that explains a refusal: the cause, its effect and what to do.
 *
 * @example
 * const result = await holdfast.cancel(id, { reason: 'duplicate' });
 * if (result.kind === 'refused') console.error(describeExecutionRefusal(result));
 */
export function describeExecutionRefusal(refusal: ExecutionRefusal): string {
  switch (refusal.why) {
    case 'execution-unknown':
      return `Execution ${refusal.id} is not known to this store. Check the id and which store this is.`;
    case 'superseded':
      return `Fence ${formatFence(refusal.fence)} of execution ${refusal.id} is stale: it was claimed again under ${formatFence(refusal.newest)} and is ${refusal.status}. Stop; nothing was written.`;
    case 'not-running':
      return `Execution ${refusal.id} is ${refusal.status}; only a running one can be written to. Nothing was written.`;
    case 'claim-ended':
      return `The session that carried fence ${formatFence(refusal.fence)} of execution ${refusal.id} has ended. Stop; nothing was written, another worker goes on from what is recorded.`;
    case 'fence-ahead':
      return `Fence ${formatFence(refusal.fence)} of execution ${refusal.id} was never issued by this store. Grants are halted until the epoch is raised.`;
    case 'seq-taken':
      return `Event ${refusal.seq} of execution ${refusal.id} is stored already with other content. Read its history again before writing.`;
    case 'unread-messages':
      return `Execution ${refusal.id} has messages that its owner has not read. Read its inbox, then decide again.`;
    case 'key-conflict':
      return `Key ${JSON.stringify(refusal.key)} was used for execution ${refusal.id} with another input or other options. Use the same ones to get that execution, or another key.`;
    case 'id-taken':
      return `Execution ${refusal.id} exists already and is another one. Submit with a new id.`;
    case 'release-unknown':
      return `There is no release "${refusal.name}" of pipeline "${refusal.pipeline}" in this project. Register it first, or check name, pipeline and project.`;
    case 'no-worker-for':
      return `Nothing was submitted: no worker that lives ${refusal.stuck > 0 ? `and takes work (${refusal.stuck} do not) ` : ''}has pipeline "${refusal.pipeline}"${refusal.release === undefined ? '' : ` in release "${refusal.release}"`}. Start one, or submit with ifNoWorker: "wait".`;
    case 'release-retired':
      return `Release "${refusal.name}" of pipeline "${refusal.pipeline}" is retired. Register the build again under another name.`;
    case 'already-ended':
      return `Execution ${refusal.id} is ${refusal.status} and never changes again.`;
    case 'deadline-passed':
      return `The deadline of execution ${refusal.id} passed at ${formatInstant(refusal.at)}, so it does nothing more. Nothing was written. Re-drive it when it has failed.`;
    case 'session-not-live':
      return 'The session of this worker is not alive in the store. Open a new session and claim with it.';
    case 'halted':
      return `Claims are halted: fence ${formatFence(refusal.presented)} was presented, which this store never issued, so it may be an older copy of itself. Find out which, then raise the epoch to go on.`;
    case 'template-conflict':
      return `Version ${refusal.version} of template ${JSON.stringify(refusal.id)} exists with other content, and a version never changes. Put the new content under the next version.`;
    case 'template-unknown':
      return `There is no ${refusal.version === undefined ? '' : `version ${refusal.version} of `}template ${JSON.stringify(refusal.id)} in this project. Put it first, or check id, version and project.`;
    case 'schedule-unknown':
      return `There is no schedule ${JSON.stringify(refusal.id)} in this project. Check id and project.`;
    case 'await-unknown':
      return `There is no open await with interaction ${refusal.id} in this project. Check the id and the project; its execution may have ended.`;
    case 'answer-conflict':
      return `Interaction ${refusal.id} was answered otherwise${refusal.actor === undefined ? '' : ` by ${refusal.actor}`} at ${formatInstant(refusal.at)}. That answer stands; nothing was changed.`;
    case 'answer-late':
      return `Interaction ${refusal.id} is ${refusal.status} already. The answer was kept as a late one and changes nothing.`;
    case 'link-required':
      return `Interaction ${refusal.id} takes answers by signed link only. Use the link that was sent for it.`;
    case 'await-settled':
      return `The await of interaction ${refusal.id} is ${refusal.status} and does not change any more.`;
    case 'link-invalid':
      return 'The link is not one that was made here, or the key that signed it was taken away. Ask for a new one.';
    case 'link-expired':
      return `The link was good until ${formatInstant(refusal.at)}. Ask for a new one.`;
    case 'question-unknown':
      return `Answers to interaction ${refusal.id} are checked by code of pipeline "${refusal.pipeline}" that this process does not have. Answer in a process that runs it, or open Holdfast with pipelines: [it].`;
    case 'no-worker':
      return `Answers to interaction ${refusal.id} are checked by a worker that has pipeline "${refusal.pipeline}", and none did so in time. Start one, or look why those that run do not get to it, then answer again; nothing was changed.`;
    case 'answer-too-early':
      return `Interaction ${refusal.id} is not asked yet, and what is made of its answer needs the request. Answer again when it is open.`;
    case 'not-ended':
      return `Execution ${refusal.id} is ${refusal.status}; only one that has ended is driven again. Wait for its end, or cancel it first.`;
    case 'redrive-open':
      return `Execution ${refusal.id} is being driven again by ${refusal.open}. Wait for its end, or cancel it first.`;
    default:
      return unreachable(refusal);
  }
}
