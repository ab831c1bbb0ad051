// The row format of executions, shared by both SQL stores. Codes are small because every claim and
// every end writes them. Fields that no query filters by share one JSON column, `about`, which is
// null when they are all absent.

import type {
  Erasure,
  ExecutionRecord,
  Hold,
  Lane,
  Status,
  StepHeartbeat,
  Submission,
} from '../execution/execution.ts';
import type { HistoryEvent, InboxMessage } from '../execution/history.ts';
import type { ExecutionId, PipelineName, ProjectName } from '../execution/names.ts';
import { parseRoute, ROUTE_MARK } from '../execution/route.ts';
import { toFence } from '../lease/fence.ts';
import type { SessionId } from '../lease/names.ts';
import { assert } from '../support/assert.ts';
import { type Instant, laterBy, toInstant } from '../support/clock.ts';
import type { Claimed, Submit } from './contract/execution-store.ts';

export const STATUS_CODES: Readonly<Record<Status, number>> = {
  queued: 0,
  running: 1,
  waiting: 2,
  completed: 10,
  failed: 11,
  cancelled: 12,
  quarantined: 13,
  compensated: 14,
};

/** Codes from this one on are terminal. */
export const TERMINAL_FROM = 10;

const STATUSES: ReadonlyMap<number, Status> = new Map(
  (Object.keys(STATUS_CODES) as Status[]).map((status) => [STATUS_CODES[status], status]),
);

export function toStatus(code: number): Status {
  const status = STATUSES.get(code);
  if (status === undefined) assert(false, `X-2: ${code} is not the code of a status`);
  return status;
}

export const LANE_CODES: Readonly<Record<Lane, number>> = { interactive: 0, batch: 1 };

export function laneOf(code: number): Lane {
  return code === LANE_CODES.interactive ? 'interactive' : 'batch';
}

/** Each hold is one bit, so that a row can have several. */
export const HOLD_BITS: Readonly<Record<Hold, number>> = {
  paused: 1,
  blocked: 2,
  'concurrency-limit': 4,
};

export function holdsOf({ holds }: Pick<ExecutionRecord, 'holds'>): number {
  return holds.reduce((bits, hold) => bits | HOLD_BITS[hold], 0);
}

/** Returns every stored value of `hold` that includes this hold. */
export function codesWith(hold: Hold): readonly number[] {
  return [1, 2, 3, 4, 5, 6, 7].filter((bits) => (bits & HOLD_BITS[hold]) !== 0);
}

/**
 * Values of different types are different labels: `1` is neither `"1"` nor `true`. PostgreSQL keeps
 * numbers in a column of their own.
 */
export const LABEL_KINDS = { tag: 0, string: 1, number: 2, boolean: 3, lineageKey: 4 } as const;

/**
 * The outcome of the last claim. The next claim returns it to its worker. A lost claim has no code:
 * it follows from the ended session.
 */
export const PREVIOUS_CODES = { none: 0, parked: 1, 'given-back': 2 } as const;

/** The state of compensation, as the row stores it (Y-2, Y-3). */
export const SAGA_CODES = { none: 0, compensable: 1, compensating: 2 } as const;

export function sagaOf({
  compensable,
  compensating,
}: Pick<ExecutionRecord, 'compensable' | 'compensating'>): number {
  if (compensating) return SAGA_CODES.compensating;
  return compensable ? SAGA_CODES.compensable : SAGA_CODES.none;
}

export interface ExecutionRow {
  readonly id: string;
  readonly project: string;
  /** The pipeline, followed by the release if the execution is pinned to one (see route.ts). */
  readonly pipeline: string;
  readonly lane: number;
  readonly status: number;
  readonly hold: number;
  readonly gated: number | boolean;
  readonly has_place: number | boolean;
  readonly ready_at: number | null;
  readonly fence: number | null;
  readonly session_id: string | null;
  readonly claimed_at: number | null;
  /** The seq of the newest `claimed` event. */
  readonly claimed_seq: number;
  readonly previous: number;
  readonly saga: number;
  readonly fruitless: number;
  readonly seq: number;
  readonly news: number;
  readonly wake_after: number;
  readonly submitted_at: number;
  readonly deadline_at: number | null;
  readonly ended_at: number | null;
  readonly input: string;
  readonly about: string | null;
  readonly key: string | null;
  readonly intent: string | null;
  readonly parent_id: string | null;
  readonly parent_call: string | null;
  readonly redrive_of: string | null;
  readonly place_key: string | null;
  readonly rate_key: string | null;
  readonly progress: string | null;
  readonly heartbeats: string | null;
}

/** The fields of a submission that no query filters by. */
type About = Pick<
  Submission,
  | 'lineageKey'
  | 'template'
  | 'submittedBy'
  | 'scheduled'
  | 'concurrency'
  | 'rate'
  | 'deadlineMs'
  | 'traceparent'
> & {
  readonly lineage?: ExecutionId;
  readonly tags?: readonly string[];
  readonly attributes?: Submission['attributes'];
  readonly erased?: Erasure;
};

export function aboutOf(submission: Submission): string | null {
  const { id, lineage, lineageKey, template, submittedBy, scheduled, concurrency, rate } =
    submission;
  const { deadlineMs, traceparent } = submission;
  const about: About = {
    ...(lineage === id ? {} : { lineage }),
    ...(lineageKey === undefined ? {} : { lineageKey }),
    ...(template === undefined ? {} : { template }),
    ...(submittedBy === undefined ? {} : { submittedBy }),
    ...(scheduled === undefined ? {} : { scheduled }),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(rate === undefined ? {} : { rate }),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
    ...(traceparent === undefined ? {} : { traceparent }),
    ...(submission.tags.length === 0 ? {} : { tags: submission.tags }),
    ...(Object.keys(submission.attributes).length === 0
      ? {}
      : { attributes: submission.attributes }),
  };
  return Object.keys(about).length === 0 ? null : JSON.stringify(about);
}

const NOTHING: readonly string[] = Object.freeze([]);
const NO_HOLDS: readonly Hold[] = Object.freeze([]);
const NO_ATTRIBUTES: Submission['attributes'] = Object.freeze({});

/** A record under construction. */
type Making = { -readonly [Part in keyof ExecutionRecord]: ExecutionRecord[Part] };

/**
 * Sets optional fields one by one. Every claim calls this, and a spread per field took twice as
 * long.
 */
export function toExecution(row: ExecutionRow): ExecutionRecord {
  const id = row.id as ExecutionId;
  const isPinned = row.pipeline.includes(ROUTE_MARK);
  const execution: Making = {
    id,
    project: row.project as ProjectName,
    pipeline: row.pipeline as PipelineName,
    lane: laneOf(row.lane),
    status: toStatus(row.status),
    input: row.input as ExecutionRecord['input'],
    lineage: id,
    tags: NOTHING,
    attributes: NO_ATTRIBUTES,
    submittedAt: row.submitted_at as Instant,
    holds: toHolds(row.hold),
    gated: Boolean(row.gated),
    hasSlot: Boolean(row.has_place),
    compensable: row.saga === SAGA_CODES.compensable,
    compensating: row.saga === SAGA_CODES.compensating,
    claimsWithoutProgress: row.fruitless,
    seq: row.seq,
    inboxCount: row.news,
    wakeAfter: row.wake_after,
  };
  if (isPinned) Object.assign(execution, parseRoute(row.pipeline));
  if (row.fence !== null) execution.fence = toFence(row.fence);
  if (row.session_id !== null) execution.session = row.session_id as SessionId;
  if (row.claimed_at !== null) execution.claimedAt = row.claimed_at as Instant;
  if (row.ready_at !== null) execution.readyAt = row.ready_at as Instant;
  if (row.ended_at !== null) execution.endedAt = row.ended_at as Instant;
  if (row.deadline_at !== null) execution.deadlineAt = row.deadline_at as Instant;
  if (row.key !== null) execution.key = row.key;
  if (row.intent !== null) execution.intent = row.intent;
  if (row.parent_id !== null && row.parent_call !== null) {
    execution.parent = {
      id: row.parent_id as ExecutionId,
      call: row.parent_call as NonNullable<Submission['parent']>['call'],
    };
  }
  if (row.redrive_of !== null) execution.redriveOf = row.redrive_of as ExecutionId;
  if (row.progress !== null) {
    execution.progress = row.progress as NonNullable<ExecutionRecord['progress']>;
  }
  if (row.heartbeats !== null) {
    execution.heartbeats = JSON.parse(row.heartbeats) as readonly StepHeartbeat[];
  }
  // `about` contains `lineage`, `tags` and `attributes` only where they differ from the defaults
  // above.
  return row.about === null
    ? execution
    : { ...execution, ...(JSON.parse(row.about) as Partial<About>) };
}

function toHolds(bits: number): readonly Hold[] {
  if (bits === 0) return NO_HOLDS;
  return (Object.keys(HOLD_BITS) as Hold[]).filter((hold) => (bits & HOLD_BITS[hold]) !== 0);
}

/**
 * Builds the row of a submit. The store adds what only it knows, such as whether the concurrency
 * key has a free slot.
 */
export function fromSubmit(
  request: Submit,
  now: Instant,
): Omit<
  ExecutionRow,
  'fence' | 'session_id' | 'claimed_at' | 'ended_at' | 'progress' | 'heartbeats'
> {
  const gated = request.concurrency !== undefined || request.rate !== undefined;
  return {
    id: request.id,
    project: request.project,
    pipeline: request.pipeline,
    lane: LANE_CODES[request.lane],
    status: STATUS_CODES.queued,
    hold: 0,
    gated: gated ? 1 : 0,
    has_place: 0,
    ready_at: laterBy(now, request.delayMs ?? 0),
    claimed_seq: 0,
    previous: PREVIOUS_CODES.none,
    saga: SAGA_CODES.none,
    fruitless: 0,
    seq: 1,
    news: 0,
    wake_after: 0,
    submitted_at: now,
    deadline_at: request.deadlineMs === undefined ? null : now + request.deadlineMs,
    input: request.input,
    about: aboutOf(request),
    key: request.key ?? null,
    intent: request.intent ?? null,
    parent_id: request.parent?.id ?? null,
    parent_call: request.parent?.call ?? null,
    redrive_of: request.redriveOf ?? null,
    place_key: request.concurrency?.key ?? null,
    rate_key: request.rate?.key ?? null,
  };
}

/** The content of the column `heartbeats`. */
export function heartbeatsText(heartbeats: readonly StepHeartbeat[]): string | null {
  return heartbeats.length === 0 ? null : JSON.stringify(heartbeats);
}

export interface HistoryRow {
  readonly seq: number;
  readonly at: number;
  readonly fence: number | null;
  readonly kind: string;
  readonly name: string | null;
  readonly body: string | null;
}

export function toHistoryEvent(row: HistoryRow): HistoryEvent {
  return {
    seq: row.seq,
    at: toInstant(row.at),
    kind: row.kind as HistoryEvent['kind'],
    ...(row.fence === null ? {} : { fence: toFence(row.fence) }),
    ...(row.name === null ? {} : { name: row.name }),
    ...(row.body === null ? {} : { body: row.body as NonNullable<HistoryEvent['body']> }),
  };
}

export interface InboxRow {
  readonly n: number;
  readonly at: number;
  readonly kind: string;
  readonly name: string | null;
  readonly body: string | null;
  /** Only a successor needs it. */
  readonly key?: string | null;
}

export function toInboxMessage(row: InboxRow): InboxMessage {
  return {
    n: row.n,
    at: toInstant(row.at),
    kind: row.kind as InboxMessage['kind'],
    ...(row.name === null ? {} : { name: row.name }),
    ...(row.body === null ? {} : { body: row.body as NonNullable<InboxMessage['body']> }),
    ...(typeof row.key === 'string' ? { key: row.key } : {}),
  };
}

/** Reads the field `previous` of the `claimed` event. */
export function previousIn(body: string | null | undefined): Claimed['previous'] {
  return (JSON.parse(body ?? '{}') as Partial<Claimed>).previous ?? 'none';
}

/** Replaces the route by the pipeline's name, without the release. */
export function ofPipeline<About extends { readonly pipeline?: PipelineName }>(
  about: About,
): About {
  const { pipeline } = about;
  return pipeline === undefined ? about : { ...about, pipeline: parseRoute(pipeline).pipeline };
}
