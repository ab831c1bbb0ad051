// Replays a history into the parts of the row that follow from it. Rows are written in the transaction
// that appends, so the two agree; tests compare them. What came from outside without an event of its
// own does not follow: inbox counters, a waking by message (a parked execution may be queued), gates.

import type { Fence } from '../lease/fence.ts';
import type { SessionId } from '../lease/names.ts';
import type { Instant } from '../support/clock.ts';
import type { Previous } from './decide/claim.ts';
import type { Hold, Status } from './execution.ts';
import type { HistoryEvent, HistoryEventKind } from './history.ts';

export interface Projection {
  /** `waiting` is what was parked; it may have been woken since. */
  readonly status: Status;
  readonly seq: number;
  readonly submittedAt?: Instant;
  readonly endedAt?: Instant;
  readonly fence?: Fence;
  /** While running. */
  readonly session?: SessionId;
  readonly claimedAt?: Instant;
  readonly claimedSeq: number;
  /** How the last claim that was let go ended. */
  readonly previous: Exclude<Previous, 'lost'>;
  readonly fruitlessClaims: number;
  readonly compensating: boolean;
  /** `behind-key` has no events. */
  readonly holds: readonly Exclude<Hold, 'behind-key'>[];
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
  // Said by an owner, with its fence, these are how it lets go.
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
  // To another release, whose code may fit.
  moved: (draft) => {
    draft.holds = draft.holds.filter((each) => each !== 'blocked');
  },
  // Said by an owner it is how it lets go; said by others, its last claim stays as it ended.
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

/** `start`: a re-drive begins as what was given back, whatever it reuses (Y-20). */
export function projectHistory(
  events: readonly HistoryEvent[],
  start: Projection['previous'] = 'none',
): Projection {
  const draft: Draft = {
    status: 'queued',
    seq: 0,
    claimedSeq: 0,
    previous: start,
    fruitlessClaims: 0,
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
  const said = JSON.parse(body ?? '{}') as { session?: SessionId; previous?: Previous };
  const isFruitless = draft.seq === draft.claimedSeq;
  if (said.previous !== 'lost') draft.fruitlessClaims = 0;
  else draft.fruitlessClaims = isFruitless ? draft.fruitlessClaims + 1 : 1;
  draft.status = 'running';
  draft.claimedAt = at;
  draft.claimedSeq = seq;
  if (fence !== undefined) draft.fence = fence;
  if (said.session !== undefined) draft.session = said.session;
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
