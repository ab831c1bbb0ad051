// Refusals of execution operations: every expected negative result, with the facts that its reader
// needs.

import type { AwaitStatus } from '../features/awaits/model.ts';
import { type Fence, formatFence } from '../lease/fence.ts';
import { unreachable } from '../support/assert.ts';
import { formatInstant, type Instant } from '../support/clock.ts';
import { isRedrivable, type Status } from './execution.ts';
import type { ExecutionId, ExecutionRef, InteractionId, PipelineName } from './names.ts';

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
  | { readonly why: 'seq-taken'; readonly id: ExecutionId; readonly seq: number };

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
 * - `key-in-use`: execution `id` has this `key`, and `ifKeyTaken` is `refuse`.
 * - `id-taken`: the `id` exists.
 * - `release-unknown`, `release-retired`: the release does not exist, or takes no new executions.
 * - `no-worker-for`: no live worker serves this `pipeline` and `release`; `stuck` ones have it and
 *   take no work.
 */
export type SubmitRefusal =
  | { readonly why: 'key-conflict' | 'key-in-use'; readonly key: string; readonly id: ExecutionId }
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
 * - `execution-unknown`: there is no execution `id` in this project, which is an id or `key:` and a key.
 * - `already-ended`: it has ended as `status`.
 * - `deadline-passed`: its deadline passed at `at`, so no code would receive the signal.
 */
export type CommandRefusal =
  | { readonly why: 'execution-unknown'; readonly id: ExecutionRef }
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

/** A schedule was put with `ifExists: 'refuse'`. Nothing was written. */
export interface ScheduleExists {
  /** There is a schedule with this id and other content. */
  readonly why: 'schedule-exists';
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

/**
 * Why a question was not asked. Pipelines get it as a `Fault` from `ctx.await`.
 *
 * - `correlation-taken`: another question of an open execution has this `correlation`.
 */
export interface QuestionRefusal {
  /** Another question has the correlation. */
  readonly why: 'correlation-taken';
  readonly correlation: string;
}

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
  | {
      /** It cannot be checked before the execution asks. */
      readonly why: 'answer-too-early';
      readonly id: InteractionId;
      /** Set if no worker with this pipeline checks answers to a question of this name. */
      readonly pipeline?: PipelineName;
    };

/**
 * Why a re-drive was refused. Nothing was written.
 *
 * - `not-ended`: execution `id` has not ended; its `status` is given.
 * - `redrive-open`: it has a re-drive `open` that has not ended.
 * - `execution-erased`: its values were erased at `at` by `by`.
 */
export type RedriveRefusal =
  | { readonly why: 'not-ended'; readonly id: ExecutionId; readonly status: Status }
  | { readonly why: 'redrive-open'; readonly id: ExecutionId; readonly open: ExecutionId }
  | {
      readonly why: 'execution-erased';
      readonly id: ExecutionId;
      readonly at: Instant;
      readonly by: string;
    };

/** Why an erasure was refused: the execution is unknown or has not ended. Nothing was written. */
export type EraseRefusal =
  | Extract<CommandRefusal, { readonly why: 'execution-unknown' }>
  | Extract<RedriveRefusal, { readonly why: 'not-ended' }>;

/**
 * Why an operation on executions was refused. `why` is the stable code; `describeExecutionRefusal`
 * explains it.
 */
export type ExecutionRefusal =
  | AnswerRefusal
  | QuestionRefusal
  | RedriveRefusal
  | OwnerRefusal
  | UnreadRefusal
  | SubmitRefusal
  | CommandRefusal
  | ClaimRefusal
  | TemplateRefusal
  | ScheduleRefusal
  | ScheduleExists;

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
      return `Execution ${refusal.id} is not known to this store. Nothing was written. Check the id or key, the project and which store this is.`;
    case 'superseded':
      return `Fence ${formatFence(refusal.fence)} of execution ${refusal.id} is stale: another claim has ${formatFence(refusal.newest)}, and the execution is ${refusal.status}. Nothing was written. Stop.`;
    case 'not-running':
      return `Execution ${refusal.id} is ${refusal.status}, and a worker can only write to a running one. Nothing was written. Stop.`;
    case 'claim-ended':
      return `The session that carried fence ${formatFence(refusal.fence)} of execution ${refusal.id} has ended. Nothing was written. Stop: another worker continues from the recorded steps.`;
    case 'fence-ahead':
      return `Fence ${formatFence(refusal.fence)} of execution ${refusal.id} was never issued by this store, so it may be an older copy of itself. Nothing was written, and claims are halted. Find out which copy is right, then raise the epoch: holdfast raise-epoch.`;
    case 'seq-taken':
      return `Event ${refusal.seq} of execution ${refusal.id} is stored with other content. Nothing was written. Read the history again before you write.`;
    case 'unread-messages':
      return `Execution ${refusal.id} has messages that its worker has not read. Nothing was written. Read the inbox, then decide again.`;
    case 'key-conflict':
      return `Key ${JSON.stringify(refusal.key)} was used for execution ${refusal.id} with another input or other options. Nothing was submitted. Submit the same ones to get that execution, or use another key.`;
    case 'key-in-use':
      return `Execution ${refusal.id} has the key ${JSON.stringify(refusal.key)}, and you submitted with ifKeyTaken: "refuse". Nothing was submitted. Use that execution, or another key.`;
    case 'id-taken':
      return `Another execution has the id ${refusal.id}. Nothing was submitted. Submit with a new id.`;
    case 'release-unknown':
      return `There is no release "${refusal.name}" of pipeline "${refusal.pipeline}" in this project. Nothing was written. Register it (holdfast releases register), or check name, pipeline and project.`;
    case 'no-worker-for':
      return `No live worker runs pipeline "${refusal.pipeline}"${refusal.release === undefined ? '' : ` in release "${refusal.release}"`}${refusal.stuck > 0 ? ` (${refusal.stuck} with it are stuck)` : ''}. Nothing was submitted. Start one, or submit with ifNoWorker: "wait".`;
    case 'release-retired':
      return `Release "${refusal.name}" of pipeline "${refusal.pipeline}" is retired. Nothing was written. Register the build under another name.`;
    case 'already-ended':
      return `Execution ${refusal.id} has ended (${refusal.status}) and cannot change. Nothing was written. To run it again, ${isRedrivable(refusal.status) ? `re-drive it: holdfast redrive ${refusal.id}` : 'submit the work again'}.`;
    case 'deadline-passed':
      return `The deadline of execution ${refusal.id} passed at ${formatInstant(refusal.at)}, so it reads no more signals. Nothing was written. Re-drive it when it has failed.`;
    case 'session-not-live':
      return 'The session of this worker is not alive in the store. Nothing was claimed. Open a new session and claim with it.';
    case 'halted':
      return `Claims are halted: a process presented fence ${formatFence(refusal.presented)}, which this store never issued, so it may be an older copy of itself. Find out which copy is right, then raise the epoch: holdfast raise-epoch.`;
    case 'template-conflict':
      return `Version ${refusal.version} of template ${JSON.stringify(refusal.id)} exists with other content, and a version never changes. Nothing was written. Put the new content under the next version.`;
    case 'template-unknown':
      return `There is no ${refusal.version === undefined ? '' : `version ${refusal.version} of `}template ${JSON.stringify(refusal.id)} in this project. Nothing was written. Put it first, or check id, version and project.`;
    case 'schedule-unknown':
      return `There is no schedule ${JSON.stringify(refusal.id)} in this project. Nothing was written. Check id and project.`;
    case 'schedule-exists':
      return `Schedule ${JSON.stringify(refusal.id)} exists with other content, and you put it with ifExists: "refuse". Nothing was written. Use another id, or replace it without ifExists.`;
    case 'await-unknown':
      return `There is no open question with interaction ${refusal.id} in this project. Nothing was written. Check the id and the project. Its execution may have ended.`;
    case 'answer-conflict':
      return `Interaction ${refusal.id} got another answer${refusal.actor === undefined ? '' : ` by ${refusal.actor}`} at ${formatInstant(refusal.at)}. That answer stands. Nothing was changed.`;
    case 'answer-late':
      return `Interaction ${refusal.id} is already ${refusal.status}. The answer was kept as a late one and changes nothing.`;
    case 'link-required':
      return `Interaction ${refusal.id} takes answers by signed link only. Nothing was changed. Answer with the link that was sent for it.`;
    case 'await-settled':
      return `The question of interaction ${refusal.id} is ${refusal.status} and cannot change. Nothing was written.`;
    case 'correlation-taken':
      return `Another question of an open execution has the correlation ${JSON.stringify(refusal.correlation)}. Nothing was asked. Choose a correlation that names one question, such as the id of a payment.`;
    case 'link-invalid':
      return 'This coordinator did not sign the link, or the signing key was removed. Nothing was changed. Ask for a new link.';
    case 'link-expired':
      return `The link expired at ${formatInstant(refusal.at)}. Nothing was changed. Ask for a new link.`;
    case 'question-unknown':
      return `Code of pipeline "${refusal.pipeline}" checks answers to interaction ${refusal.id}, and this process does not have it. Nothing was changed. Answer in a process that runs the pipeline, or pass it: openHoldfast({ pipelines }).`;
    case 'no-worker':
      return `A worker with pipeline "${refusal.pipeline}" must check answers to interaction ${refusal.id}, and none did in time. Nothing was changed. Check holdfast workers, start one, and answer again.`;
    case 'answer-too-early':
      return refusal.pipeline === undefined
        ? `Interaction ${refusal.id} is not open yet, and its answer can only be checked with the request. Nothing was changed. Answer again when it is open.`
        : `Interaction ${refusal.id} is not open yet, and no worker with pipeline "${refusal.pipeline}" checked its answer. Nothing was changed. Workers check early answers only to questions that the pipeline declares. Answer again when it is open, or declare the question: pipeline({ awaits: [question({ name })] }).`;
    case 'not-ended':
      return `Execution ${refusal.id} is ${refusal.status}, and only an ended one can be re-driven or erased. Nothing was written. Wait for its end, or cancel it first: holdfast cancel ${refusal.id}.`;
    case 'redrive-open':
      return `Execution ${refusal.open} already re-drives ${refusal.id}. Nothing was written. Wait for its end, or cancel it first: holdfast cancel ${refusal.open}.`;
    case 'execution-erased':
      return `The values of execution ${refusal.id} were erased at ${formatInstant(refusal.at)} by ${refusal.by}, so it cannot run again. Nothing was written. Submit the work again with a new input.`;
    default:
      return unreachable(refusal);
  }
}
