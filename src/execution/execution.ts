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
//   X-2  A terminal execution never changes.
//   X-3  `readyAt` has a value exactly while a worker may claim the execution at that time.
//        Holds are separate.
//   X-4  The transaction that changes the row appends the history; seq has no gaps.
//   X-5  Outsiders never touch a running execution's row except its inbox. Every message raises
//        `inboxCount`, and an owner that has not read the newest message cannot park.

import type { Fence } from '../lease/fence.ts';
import type { SessionId } from '../lease/names.ts';
import type { Instant } from '../support/clock.ts';
import type { CallKey, ExecutionId, Payload, PipelineName, ProjectName } from './names.ts';

export type Status =
  | 'queued'
  | 'running'
  | 'waiting'
  | 'completed'
  | 'failed'
  | 'cancelled'
  | 'quarantined'
  | 'compensated';

export type TerminalStatus = 'completed' | 'failed' | 'cancelled' | 'quarantined' | 'compensated';

export const STATUSES: readonly Status[] = [
  'queued',
  'running',
  'waiting',
  'completed',
  'failed',
  'cancelled',
  'quarantined',
  'compensated',
];

export const TERMINAL: ReadonlySet<Status> = new Set<Status>([
  'completed',
  'failed',
  'cancelled',
  'quarantined',
  'compensated',
]);

export function isTerminal(status: Status): status is TerminalStatus {
  return TERMINAL.has(status);
}

/** A priority class. Interactive goes first; batch is never starved. */
export type Lane = 'interactive' | 'batch';

export const LANES: readonly Lane[] = ['interactive', 'batch'];

/** Why an execution that is ready is kept from workers. They add up; all must be gone. */
export type Hold = 'paused' | 'blocked' | 'concurrency-limit';

export const HOLDS: readonly Hold[] = ['paused', 'blocked', 'concurrency-limit'];

/** At most `limit` executions of a key are open and started at once, within a project. */
export interface ConcurrencyKey {
  readonly key: string;
  readonly limit: number;
}

/** At most `limit` executions of a key start in any `perMs`, within a project. */
export interface RateKey {
  readonly key: string;
  readonly limit: number;
  readonly perMs: number;
}

/** The execution that started this one, and the call in its code that did. */
export interface Parent {
  readonly id: ExecutionId;
  readonly call: CallKey;
}

/** The part that never changes after submit. */
export interface Submission {
  readonly id: ExecutionId;
  readonly project: ProjectName;
  readonly pipeline: PipelineName;
  readonly lane: Lane;
  readonly input: Payload;
  /** The first of a chain of re-drives; idempotency keys derive from it. */
  readonly lineage: ExecutionId;
  /** The same key and the same intent yield the same execution. */
  readonly key?: string;
  /** Digest of everything the caller asked for under `key`. */
  readonly intent?: string;
  /** The name of the release that the execution is pinned to. Only a repin changes it. */
  readonly release?: string;
  readonly parent?: Parent;
  /** The execution that this one repairs (Y-20). */
  readonly redriveOf?: ExecutionId;
  readonly template?: { readonly id: string; readonly version: number };
  readonly submittedBy?: string;
  /**
   * Set if a schedule fired it: the schedule, and the time that it was fired for. Continuations and
   * re-drives keep it.
   */
  readonly scheduled?: { readonly id: string; readonly at: Instant };
  readonly concurrency?: ConcurrencyKey;
  readonly rate?: RateKey;
  /** The overall deadline, counted from submit. */
  readonly deadlineMs?: number;
  readonly tags: readonly string[];
  readonly attributes: Attributes;
  readonly traceparent?: string;
}

/** Typed search attributes: indexed, filterable by equality and, for numbers, by range. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

export interface ExecutionRecord extends Submission {
  readonly status: Status;
  readonly submittedAt: Instant;
  readonly deadlineAt?: Instant;
  /** For a waiting execution: when its timer is due, if it has one. */
  readonly readyAt?: Instant;
  readonly holds: readonly Hold[];
  /** Has keys whose limits it has not passed yet; a claim that finds it ready sees to it. */
  readonly gated: boolean;
  /** Holds a slot of its concurrency key until it ends. While gated: has its turn of its rate key too. */
  readonly hasSlot: boolean;
  /** Has registered compensations, as its last owner said when it let go (Y-3). */
  readonly compensable: boolean;
  /** Undoes what it did; never goes back (Y-2). */
  readonly compensating: boolean;
  /** Of the last claim; kept when the claim has ended, so that it can be told from a newer one. */
  readonly fence?: Fence;
  /** Of the claim, while running. */
  readonly session?: SessionId;
  readonly claimedAt?: Instant;
  /** Claims in a row under which nothing was recorded (the poison cap counts these). */
  readonly claimsWithoutProgress: number;
  /** Seq of the last event when the row was last written; exact unless running. */
  readonly seq: number;
  /** The number of messages that its inbox has had. */
  readonly inboxCount: number;
  /** While waiting: how many children must end before it wakes. Zero: the next arrival wakes it. */
  readonly wakeAfter: number;
  readonly endedAt?: Instant;
  readonly progress?: Payload;
}
