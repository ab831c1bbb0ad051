// The invariants between rows: the list that the reconciler goes through (Z-1). The store's
// operations never break them; bugs, restores and manual SQL do. A store gathers the facts of a
// page, the judges in `decide.ts` name the broken invariants, and the store makes the provable
// repairs.

import type { ExecutionId, PipelineName, ProjectName } from '../../execution/names.ts';
import { formatInstant, type Instant } from '../../support/clock.ts';
import { wordsIn } from '../../support/options.ts';

/** The kinds of rows that the reconciler checks, a page at a time (Z-2). */
export const PARTS = wordsIn(
  'running waiting awaits slots questions dead-letters schedules executions',
);

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
    sentence: 'Its worker is gone, and no other worker has taken it over.',
    advice: 'Start a worker with its pipeline, or raise the concurrency of the running ones.',
  },
  'overdue-not-swept': {
    part: 'running',
    sentence: 'Its worker has long been silent, and its session was not ended.',
    repair: 'The session is ended, and another worker takes over.',
    advice: 'If it recurs, check the clock of the store.',
  },
  'running-unowned': {
    part: 'running',
    sentence: 'It is running, but no session carries it.',
    repair: 'It is given back, and a worker claims it.',
    advice: 'Find out which program wrote to the store directly.',
  },
  'waits-for-nothing': {
    part: 'waiting',
    sentence: 'It waits, and nothing is left that could wake it.',
    advice: 'Read its history. Signal it so that it checks again, or cancel and re-drive it.',
  },
  'settlement-undelivered': {
    part: 'waiting',
    sentence: 'One of its questions is settled, and it was not notified.',
    repair: 'It is notified, and continues.',
    advice: 'If it recurs, report a bug.',
  },
  'child-end-undelivered': {
    part: 'waiting',
    sentence: 'One of its children has ended, and it was not notified.',
    repair: 'It is notified, and continues after its last open child.',
    advice:
      'If it was not repaired, the end of the child is unknown. Read the child, then signal or cancel the execution.',
  },
  'inbox-unread': {
    part: 'waiting',
    sentence: 'It waits although its inbox has a message.',
    repair: 'It is woken, and reads its inbox.',
    advice: 'If it recurs, report a bug.',
  },
  'child-of-the-ended': {
    part: 'waiting',
    sentence: 'It waits although its parent has ended.',
    repair: 'Maintenance cancels it.',
    advice: 'If it recurs, report a bug.',
  },
  'await-of-the-ended': {
    part: 'awaits',
    sentence: 'It has ended, and one of its questions is still open.',
    repair: 'The question is closed.',
    advice: 'If it recurs, report a bug.',
  },
  'slots-miscounted': {
    part: 'slots',
    sentence: 'The slot count of a concurrency key differs from its executions.',
    repair: 'The slots are counted again, and waiting executions get the free ones.',
    advice: 'If it recurs, report a bug.',
  },
  'slot-not-given': {
    part: 'slots',
    sentence: 'Executions wait for a slot of a concurrency key that has free ones.',
    repair: 'Waiting executions get the free slots.',
    advice: 'No action is needed: raising a limit also causes this.',
  },
  'question-slot-not-given': {
    part: 'questions',
    sentence: 'Questions wait for a slot of a concurrency key that has free ones.',
    repair: 'Waiting questions get the free slots.',
    advice: 'If it recurs, report a bug.',
  },
  'dead-letter-mismatch': {
    part: 'dead-letters',
    sentence: 'Its dead letter does not match the execution or its re-drive.',
    advice: 'Find out which part of the store was restored before you re-drive it.',
  },
  'schedule-without-time': {
    part: 'schedules',
    sentence: 'A schedule has no next time, although its plan has one.',
    advice: 'Pause and resume the schedule.',
  },
  'paused-schedule-with-time': {
    part: 'schedules',
    sentence: 'A paused schedule has a next time and would fire.',
    repair: 'Its next time is removed.',
    advice: 'If it recurs, report a bug.',
  },
  'letter-missing': {
    part: 'executions',
    sentence: 'It failed and has no dead letter.',
    advice: 'Re-drive it by its id; bulk jobs do not find it.',
  },
  'history-differs': {
    part: 'executions',
    sentence: 'Its row and its history do not agree.',
    advice: 'Find out which part of the store was restored. Cancel it if it is open.',
  },
  'queued-without-time': {
    part: 'executions',
    sentence: 'It is queued and would never become ready.',
    repair: 'It is ready now.',
    advice: 'If it recurs, report a bug.',
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
