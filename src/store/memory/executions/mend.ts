// Repairs of what is provable, one at a time (Z-4). Whoever calls has looked in the same turn.

import { deliver, type NewMessage } from '../../../execution/decide/deliver.ts';
import {
  childMessage,
  hearing,
  settlementMessage,
  takenFromNobody,
} from '../../../execution/decide/reconcile.ts';
import type { InvariantName, Violation } from '../../../execution/invariants.ts';
import type { CallKey, ExecutionId } from '../../../execution/names.ts';
import type { SessionId } from '../../../lease/names.ts';
import { chainState } from '../../../lease/session.ts';
import { sweep } from '../sweep.ts';
import { answeredOf, closeAwaits, unitEntry } from './awaits.ts';
import { putMessage } from './deliver.ts';
import { handOn } from './gates.ts';
import { placeFacts } from './reconcile-facts.ts';
import { type Entry, type ExecutionState, inProject } from './state.ts';

type Mend = (state: ExecutionState, violation: Violation) => boolean;

const SWEEP_MAX = 100;

const MENDS: Readonly<Partial<Record<InvariantName, Mend>>> = {
  'overdue-not-swept': (state, { about = '' }) => {
    sweep(state.kernel, { limit: SWEEP_MAX });
    return chainState(state.kernel.chain(about as SessionId), state.kernel.now()) === 'ended';
  },
  'run-by-nobody': withEntry((state, entry) => {
    const now = state.kernel.now();
    const { execution, event } = takenFromNobody(entry.execution, entry.history.length, now);
    state.append(entry, [event]);
    state.put(entry, execution);
    entry.previous = 'given-back';
    state.ring();
    return true;
  }),
  'settlement-not-told': withEntry((state, entry, call) => {
    const of = unitEntry(state, entry.execution.id, call as CallKey);
    if (of?.unit === undefined) return false;
    return tell(state, entry, settlementMessage(of.unit, answeredOf(state, of)));
  }),
  'child-end-not-told': withEntry((state, entry, call) => {
    const { project } = entry.execution;
    const last = (state.children.get(entry.execution.id) ?? [])
      .map((id) => state.entries.get(id))
      .filter((child) => child?.execution.project === project)
      .findLast((child) => child?.execution.parent?.call === call);
    if (last === undefined) return false;
    const { id } = last.execution;
    return tell(state, entry, childMessage({ id, call }, last.history.at(-1)));
  }),
  'news-not-heard': withEntry((state, entry) => {
    const newest = entry.inbox.at(-1)?.n ?? 0;
    state.put(entry, hearing(entry.execution, newest, state.kernel.now()));
    state.ring();
    return true;
  }),
  'child-of-the-ended': (state, { execution }) => {
    state.orphans.add(execution as ExecutionId);
    return true;
  },
  'await-of-the-ended': (state, { execution }) => {
    closeAwaits(state, execution as ExecutionId, state.kernel.now());
    return true;
  },
  'places-miscounted': countAnew,
  'place-not-given': countAnew,
  'paused-schedule-with-time': (state, { project, about = '' }) => {
    const entry = state.schedules.get(`${project}\0${about}`);
    if (entry === undefined) return false;
    const { nextAt: _, ...schedule } = entry.schedule;
    entry.schedule = Object.freeze(schedule);
    return true;
  },
  'queued-without-time': withEntry((state, entry) => {
    state.put(entry, { ...entry.execution, readyAt: state.kernel.now() });
    state.ring();
    return true;
  }),
};

/** Whether it was repaired. */
export function mend(state: ExecutionState, violation: Violation): boolean {
  return MENDS[violation.invariant]?.(state, violation) ?? false;
}

function withEntry(act: (state: ExecutionState, entry: Entry, about: string) => boolean): Mend {
  return (state, { execution, about = '' }) => {
    const entry = execution === undefined ? undefined : state.entries.get(execution);
    return entry !== undefined && act(state, entry, about);
  };
}

function tell(state: ExecutionState, entry: Entry, message: NewMessage | undefined): boolean {
  if (message === undefined) return false;
  putMessage(state, entry, deliver(entry.execution, message, state.kernel.now()));
  return true;
}

/** Z-14: the executions say what is true. */
function countAnew(state: ExecutionState, { project, about = '' }: Violation): boolean {
  if (project === undefined) return false;
  const name = inProject(project, about);
  const book = state.places.get(name);
  if (book === undefined) return false;
  book.taken = placeFacts(state).get(name)?.held ?? 0;
  handOn(state, book, state.kernel.now());
  state.ring();
  return true;
}
