// The invariants between rows: the list that the reconciler goes through (Z-1). The store's
// operations never break them; bugs, restores and manual SQL do. A store gathers the facts of a
// page, the judges in `decide.ts` name the broken invariants, and the store makes the provable
// repairs.

import type { ExecutionId, PipelineName, ProjectName } from '../../execution/names.ts';
import { formatInstant, type Instant } from '../../support/clock.ts';

/** The kinds of rows that the reconciler checks, a page at a time (Z-2). */
export const PARTS = [
  ...(['running', 'waiting', 'awaits', 'slots', 'dead-letters', 'schedules'] as const),
  'executions',
] as const;

export type ReconcilePart = (typeof PARTS)[number];

interface Entry {
  /** The part of the store that the check reads. */
  readonly part: ReconcilePart;
  /** The problem, for operators. */
  readonly sentence: string;
  /** The repair that Holdfast makes. Absent if it only reports the problem. */
  readonly repair?: string;
  /** The action that an operator can take. */
  readonly advice: string;
}

const INVARIANT_ENTRIES = {
  'left-by-the-dead': {
    part: 'running',
    sentence: 'Its worker is gone and no other has taken it over.',
    advice: 'Start a worker that has its pipeline, or give those there are more concurrency.',
  },
  'overdue-not-swept': {
    part: 'running',
    sentence: 'Its worker has not been heard of for long, and nobody has ended its session.',
    repair: 'Sessions are swept: it is taken over once the session has ended.',
    advice: 'Nothing, unless it is found again: then look at the clock of the store.',
  },
  'running-unowned': {
    part: 'running',
    sentence: 'It is running, but no session carries it.',
    repair: 'It is given back, and claimed like any other.',
    advice: 'Find out who wrote to the store by hand.',
  },
  'waits-for-nothing': {
    part: 'waiting',
    sentence: 'It waits, and there is nothing left that could wake it.',
    advice:
      'Look at its history; signal it to make it look again, or cancel it and drive it again.',
  },
  'settlement-undelivered': {
    part: 'waiting',
    sentence: 'An await of it has settled and it was not told.',
    repair: 'It is told, and goes on.',
    advice: 'Nothing, unless it is found again.',
  },
  'child-end-undelivered': {
    part: 'waiting',
    sentence: 'A child of it has ended and it was not told.',
    repair: 'It is told, and goes on when that was the last it waited for.',
    advice:
      'When it was not repaired, how the child ended is not known: look at it, then signal or cancel.',
  },
  'inbox-unread': {
    part: 'waiting',
    sentence: 'It waits though a message for it has come.',
    repair: 'It is woken, and reads its inbox.',
    advice: 'Nothing, unless it is found again.',
  },
  'child-of-the-ended': {
    part: 'waiting',
    sentence: 'It waits though the execution that started it has ended.',
    repair: 'It is noted for maintenance, which asks it to cancel.',
    advice: 'Nothing, unless it is found again.',
  },
  'await-of-the-ended': {
    part: 'awaits',
    sentence: 'It has ended and an await of it is still open.',
    repair: 'The await is closed, as every end does.',
    advice: 'Nothing, unless it is found again.',
  },
  'slots-miscounted': {
    part: 'slots',
    sentence: 'A concurrency key counts other slots than its executions have.',
    repair: 'They are counted anew, and free ones are handed on.',
    advice: 'Nothing, unless it is found again.',
  },
  'slot-not-given': {
    part: 'slots',
    sentence: 'Executions wait for a slot of a concurrency key that has free ones.',
    repair: 'Free slots are handed on.',
    advice: 'Nothing: a limit that was raised leaves this behind, too.',
  },
  'dead-letter-mismatch': {
    part: 'dead-letters',
    sentence: 'Its dead letter does not fit the execution, or the one that drove it again.',
    advice: 'Find out which part of the store was restored; do not drive it again before.',
  },
  'schedule-without-time': {
    part: 'schedules',
    sentence: 'A schedule has no next time, though its plan has one.',
    advice: 'Pause and resume the schedule.',
  },
  'paused-schedule-with-time': {
    part: 'schedules',
    sentence: 'A schedule is paused and would fire all the same.',
    repair: 'Its next time is taken away.',
    advice: 'Nothing, unless it is found again.',
  },
  'letter-missing': {
    part: 'executions',
    sentence: 'It went wrong and has no dead letter.',
    advice: 'Drive it again by its id; bulk jobs do not find it.',
  },
  'history-differs': {
    part: 'executions',
    sentence: 'Its row and its history do not agree.',
    advice: 'Find out which part of the store was restored; cancel it if it is open.',
  },
  'queued-without-time': {
    part: 'executions',
    sentence: 'It is queued and would never be ready.',
    repair: 'It is ready now.',
    advice: 'Nothing, unless it is found again.',
  },
} satisfies Readonly<Record<string, Entry>>;

/** The name of an invariant. */
export type InvariantName = keyof typeof INVARIANT_ENTRIES;

const BY_NAME: Readonly<Record<InvariantName, Entry>> = INVARIANT_ENTRIES;

/** A rule that stored data must keep, and what happens if it does not. */
export interface Invariant extends Entry {
  /** The name of the invariant. */
  readonly name: InvariantName;
}

/** All invariants that workers check and `repair.reconcile` checks on demand. */
export const INVARIANTS: readonly Invariant[] = (Object.keys(BY_NAME) as InvariantName[]).map(
  (name) => ({ name, ...BY_NAME[name] }),
);

/** Stored data that breaks an invariant. */
export interface BrokenInvariant {
  /** The name of the invariant. */
  readonly invariant: InvariantName;
  /** The project. */
  readonly project?: ProjectName;
  /** The execution. */
  readonly execution?: ExecutionId;
  /** Its pipeline. */
  readonly pipeline?: PipelineName;
  /** More detail: a call, a concurrency key, a schedule or a session. */
  readonly about?: string;
  /** Since when. */
  readonly since?: Instant;
}

/** Stored data that breaks an invariant, and whether the check repaired it. */
export interface Finding extends BrokenInvariant {
  /** True if the check repaired it. */
  readonly repaired: boolean;
}

/** A finding with an explanation. */
export interface StaleFinding extends Finding {
  /** The problem, for operators. */
  readonly sentence: string;
  /** The repair that was made, or what an operator can do. */
  readonly advice: string;
}

export function describeFinding(finding: Finding): StaleFinding {
  const { sentence, advice, repair } = BY_NAME[finding.invariant];
  const { about, since } = finding;
  const what = about === undefined ? '' : ` (${about})`;
  const when = since === undefined ? '' : ` Since ${formatInstant(since)}.`;
  return {
    ...finding,
    sentence: `${sentence.slice(0, -1)}${what}.${when}`,
    advice: finding.repaired ? (repair ?? advice) : advice,
  };
}

/** True if a store may repair it. */
export function isRepairable(name: InvariantName): boolean {
  return BY_NAME[name].repair !== undefined;
}
