// Replays a history into the parts of the row that follow from it. One transaction writes the row
// and appends the event, so the two agree; tests compare them. Changes from outside without
// an event do not follow: inbox counters, a wakeup by a message (a parked execution may be queued),
// and limits.

import type { Previous } from '../../src/execution/decide/claim.ts';
import type { Hold, Status } from '../../src/execution/execution.ts';
import type { HistoryEvent, HistoryEventKind } from '../../src/execution/history.ts';
import type { Fence } from '../../src/lease/fence.ts';
import type { SessionId } from '../../src/lease/names.ts';
import type { Instant } from '../../src/support/clock.ts';

export interface Projection {
  /** `waiting` means parked; a message may have woken it since. */
  readonly status: Status;
  readonly seq: number;
  readonly submittedAt?: Instant;
  readonly endedAt?: Instant;
  readonly fence?: Fence;
  /** While running. */
  readonly session?: SessionId;
  readonly claimedAt?: Instant;
  readonly claimedSeq: number;
  /** The owner's exit from the last claim. */
  readonly previous: Exclude<Previous, 'lost'>;
  readonly claimsWithoutProgress: number;
  readonly compensating: boolean;
  /** `concurrency-limit` has no events. */
  readonly holds: readonly Exclude<Hold, 'concurrency-limit'>[];
}

type Draft = { -readonly [Part in keyof Projection]: Projection[Part] };
type Step = (draft: Draft, event: HistoryEvent) => void;

const STEPS: Readonly<Partial<Record<HistoryEventKind, Step>>> = {
  submitted: (draft, { at }) => {
    draft.submittedAt = at;
  },
  claimed: startClaim,
  parked: (draft) => leave(draft, 'waiting'),
  'given-back': (draft) => leave(draft, 'queued'),
  // With a fence, an owner wrote the event and left the claim by it.
  blocked: (draft, { fence }) => {
    if (fence !== undefined) leave(draft, 'queued');
    hold(draft, 'blocked');
  },
  paused: (draft, { fence }) => {
    if (fence !== undefined) leave(draft, 'queued');
    hold(draft, 'paused');
  },
  resumed: (draft) => {
    draft.holds = [];
  },
  unblocked: (draft) => {
    draft.holds = draft.holds.filter((each) => each !== 'blocked');
  },
  // The code of the new release may fit the history.
  moved: (draft) => {
    draft.holds = draft.holds.filter((each) => each !== 'blocked');
  },
  // With a fence, the owner left the claim by it. Without one, the last claim stays as it ended.
  compensating: (draft, { fence }) => {
    if (fence === undefined) draft.status = 'queued';
    else leave(draft, 'queued');
    draft.compensating = true;
  },
  compensated: end,
  completed: end,
  failed: end,
  cancelled: end,
  quarantined: end,
};

/** `start`: a re-drive begins like an execution that was given back, whatever it reuses (Y-20). */
export function projectHistory(
  events: readonly HistoryEvent[],
  start: Projection['previous'] = 'none',
): Projection {
  const draft: Draft = {
    status: 'queued',
    seq: 0,
    claimedSeq: 0,
    previous: start,
    claimsWithoutProgress: 0,
    compensating: false,
    holds: [],
  };
  for (const event of events) {
    STEPS[event.kind]?.(draft, event);
    draft.seq = event.seq;
  }
  return draft;
}

function startClaim(draft: Draft, { at, seq, fence, body }: HistoryEvent): void {
  const claim = JSON.parse(body ?? '{}') as { session?: SessionId; previous?: Previous };
  const isWithoutProgress = draft.seq === draft.claimedSeq;
  if (claim.previous !== 'lost') draft.claimsWithoutProgress = 0;
  else draft.claimsWithoutProgress = isWithoutProgress ? draft.claimsWithoutProgress + 1 : 1;
  draft.status = 'running';
  draft.claimedAt = at;
  draft.claimedSeq = seq;
  if (fence !== undefined) draft.fence = fence;
  if (claim.session !== undefined) draft.session = claim.session;
}

function leave(draft: Draft, status: 'queued' | 'waiting'): void {
  draft.status = status;
  draft.previous = status === 'waiting' ? 'parked' : 'given-back';
  delete draft.session;
}

function hold(draft: Draft, which: 'paused' | 'blocked'): void {
  const both = ['paused', 'blocked'] as const;
  draft.holds = both.filter((each) => each === which || draft.holds.includes(each));
}

function end(draft: Draft, { kind, at }: HistoryEvent): void {
  draft.status = kind as Status;
  draft.endedAt = at;
  draft.holds = [];
  delete draft.session;
}
