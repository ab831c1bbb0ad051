// The model of an execution: one run of a pipeline's code for one input, from submit to its end.
// Its row is the projection of its history. It is also the row of a lease: a claim is a fence and a
// session in that row.
//
//     submit              claim
//    ───────▶ queued ──────────────▶ running ──▶ a terminal status, which never changes
//               ▲  ▲                 │ │
//     wake      │  └── give back ────┘ │         terminal: completed, failed, cancelled,
//             waiting ◀──── park ──────┘         compensated, quarantined
//
// A `compensating` execution takes the same way, until it is compensated or quarantined (Y-2).
//
//   X-1  Only the newest fence writes. A claim mints it; nothing else raises it.
//   X-2  A terminal execution never changes, except that its values can be erased.
//   X-3  `readyAt` has a value exactly while a worker may claim the execution at that time.
//        Holds are separate.
//   X-4  The transaction that changes the row appends the history; seq has no gaps.
//   X-5  Outsiders never touch a running execution's row except its inbox. Every message raises
//        `inboxCount`, and an owner that has not read the newest message cannot park.

import type { Fence } from '../lease/fence.ts';
import type { SessionId } from '../lease/names.ts';
import type { Instant } from '../support/clock.ts';
import { wordsIn } from '../support/options.ts';
import type { CallKey, ExecutionId, Payload, PipelineName, ProjectName } from './names.ts';

/**
 * The status of an execution.
 *
 * - `queued`: a worker may claim it.
 * - `running`: a worker runs it.
 * - `waiting`: it waits for a time, a child, a signal or an answer.
 * - `completed`: it returned a result.
 * - `failed`: it ended with an error, or passed its deadline.
 * - `cancelled`: it was cancelled.
 * - `quarantined`: workers were lost too often while they ran it, or its compensation failed.
 * - `compensated`: it failed or was cancelled, and its steps were undone.
 */
export type Status =
  | 'queued'
  | 'running'
  | 'waiting'
  | 'completed'
  | 'failed'
  | 'cancelled'
  | 'quarantined'
  | 'compensated';

/** A status that never changes again. */
export type TerminalStatus = 'completed' | 'failed' | 'cancelled' | 'quarantined' | 'compensated';

export const STATUSES: readonly Status[] = wordsIn(
  'queued running waiting completed failed cancelled quarantined compensated',
);

export const TERMINAL: ReadonlySet<Status> = new Set<Status>(
  wordsIn('completed failed cancelled quarantined compensated'),
);

/**
 * Returns true if an execution with this status has ended.
 *
 * @example
 * const execution = await holdfast.read(id);
 * if (execution !== undefined && isTerminal(execution.status)) console.log(execution.endedAt);
 */
export function isTerminal(status: Status): status is TerminalStatus {
  return TERMINAL.has(status);
}

/** False if a plain re-drive is refused: no step is left to run, or the steps were undone. */
export function isRedrivable(status: Status): boolean {
  return status !== 'completed' && status !== 'compensated';
}

/** A priority class. `interactive` goes first; `batch` is never starved. */
export type Lane = 'interactive' | 'batch';

export const LANES: readonly Lane[] = ['interactive', 'batch'];

/**
 * A reason why workers do not claim an execution that is ready. All holds must be gone.
 *
 * - `paused`: an operator paused it.
 * - `blocked`: the code does not match its history, or has a bug.
 * - `concurrency-limit`: its concurrency key is at its limit.
 */
export type Hold = 'paused' | 'blocked' | 'concurrency-limit';

export const HOLDS: readonly Hold[] = ['paused', 'blocked', 'concurrency-limit'];

/** At most `limit` started and unfinished executions of a project share a key. */
export interface ConcurrencyKey {
  /** The key. */
  readonly key: string;
  /** The limit, 1 to 1,000,000. */
  readonly limit: number;
}

/** At most `limit` executions of a project with this key start within `perMs` milliseconds. */
export interface RateKey {
  /** The key. */
  readonly key: string;
  /** The limit, 1 to 1,000,000. */
  readonly limit: number;
  /** The period in milliseconds, up to a day. */
  readonly perMs: number;
}

/** The execution that started a child, and the call that did. */
export interface Parent {
  /** The id of the parent. */
  readonly id: ExecutionId;
  /** The call in its code. */
  readonly call: CallKey;
}

/** The part of an execution that never changes after submit. */
export interface Submission {
  /** The id of the execution. */
  readonly id: ExecutionId;
  /** The project. */
  readonly project: ProjectName;
  /** The name of the pipeline. */
  readonly pipeline: PipelineName;
  /** The priority class. */
  readonly lane: Lane;
  /** The input as it is stored. `holdfast.decode` returns its value. */
  readonly input: Payload;
  /** The first execution of a chain of re-drives. Idempotency keys derive from it. */
  readonly lineage: ExecutionId;
  /** The idempotency key of the submission. */
  readonly key?: string;
  /** The digest of the content that was submitted under `key`. */
  readonly intent?: string;
  /** The release that the execution is pinned to. Only a repin changes it. */
  readonly release?: string;
  /** The execution that started this one. */
  readonly parent?: Parent;
  /** The execution that this one repairs. */
  readonly redriveOf?: ExecutionId;
  /** For a re-drive: the key of the first execution of its chain, which keeps the key. */
  readonly lineageKey?: string;
  /** The template that it was submitted with: its `id` and `version`. */
  readonly template?: { readonly id: string; readonly version: number };
  /** The submitter. */
  readonly submittedBy?: string;
  /** The schedule that fired it: its `id`, and the time `at` for which it fired. */
  readonly scheduled?: { readonly id: string; readonly at: Instant };
  /** The concurrency limit. */
  readonly concurrency?: ConcurrencyKey;
  /** The rate limit. */
  readonly rate?: RateKey;
  /** The deadline in milliseconds after submit. */
  readonly deadlineMs?: number;
  /** The tags. */
  readonly tags: readonly string[];
  /** The search attributes. */
  readonly attributes: Attributes;
  /** The W3C trace context. */
  readonly traceparent?: string;
}

/**
 * Search attributes: text, finite numbers or booleans. Lists can filter them by equality and, for
 * numbers, by range.
 */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** Changes to search attributes. `null` or `undefined` removes one. */
export type AttributeChanges = Readonly<
  Record<string, string | number | boolean | null | undefined>
>;

/** The stored record of an execution. */
export interface ExecutionRecord extends Submission {
  /** The status. */
  readonly status: Status;
  /** When it was submitted. */
  readonly submittedAt: Instant;
  /** When it fails if it has not ended. */
  readonly deadlineAt?: Instant;
  /** When a worker may claim it, holds aside. For a waiting execution: when its timer is due. */
  readonly readyAt?: Instant;
  /** Reasons why workers do not claim it. */
  readonly holds: readonly Hold[];
  /** True until it has passed the limits of its concurrency and rate keys. */
  readonly gated: boolean;
  /** True while it has a slot of its concurrency key. */
  readonly hasSlot: boolean;
  /** True if steps with a compensation have completed. */
  readonly compensable: boolean;
  /** True if it is undoing its steps. */
  readonly compensating: boolean;
  /** The fence of the last claim. */
  readonly fence?: Fence;
  /** The session of the claim, while it runs. */
  readonly session?: SessionId;
  /** When it was last claimed. */
  readonly claimedAt?: Instant;
  /** Claims in a row that were lost without progress. */
  readonly claimsWithoutProgress: number;
  /** The number of its last history event; exact unless it runs. */
  readonly seq: number;
  /** How many messages its inbox has received. */
  readonly inboxCount: number;
  /**
   * While it waits: how many children must end before it wakes. Zero: the next message wakes it.
   */
  readonly wakeAfter: number;
  /** When it ended. */
  readonly endedAt?: Instant;
  /** The last value of `ctx.progress`, as it is stored. `holdfast.decode` returns the value. */
  readonly progress?: Payload;
  /** The last heartbeats of its steps that have not ended. */
  readonly heartbeats?: readonly StepHeartbeat[];
  /** Set if its values were erased. */
  readonly erased?: Erasure;
}

/** The erasure of an execution's values. */
export interface Erasure {
  /** When. */
  readonly at: Instant;
  /** The actor. */
  readonly by: string;
  /** True if it was in the archive, so its documents were erased. */
  readonly ofArchive?: true;
  /** Values that a repeated erasure still has to remove. Absent if all are gone. */
  readonly pending?: {
    /** True if documents of the archive remain. */
    readonly documents?: true;
    /** Digests of large values that the store may still have. */
    readonly values?: readonly string[];
  };
}

/** The last heartbeat of a step that has not ended. */
export interface StepHeartbeat {
  /** The call, such as `step:import#1`. */
  readonly key: CallKey;
  /** The attempt that sent it. */
  readonly attempt: number;
  /** When the step sent it, by the store's clock as the worker knew it. */
  readonly at: Instant;
  /** The details, as they are stored. `holdfast.decode` returns the value. */
  readonly details?: Payload;
}

/** The key of the heartbeat that marks code in a scope. Such code gets a cancel. */
export const SCOPE_CALL: CallKey = 'scope:' as CallKey;

export function isInScope({ heartbeats = [] }: Pick<ExecutionRecord, 'heartbeats'>): boolean {
  return heartbeats.some(({ key }) => key === SCOPE_CALL);
}

/** Without the mark of a scope. */
export function stepHeartbeats(heartbeats: readonly StepHeartbeat[]): readonly StepHeartbeat[] {
  return heartbeats.filter(({ key }) => key !== SCOPE_CALL);
}

/** The values of an execution's row, as they are stored. */
export function storedValues({
  input,
  progress,
  heartbeats = [],
}: Pick<ExecutionRecord, 'input' | 'progress' | 'heartbeats'>): readonly (Payload | undefined)[] {
  return [input, progress, ...heartbeats.map(({ details }) => details)];
}
