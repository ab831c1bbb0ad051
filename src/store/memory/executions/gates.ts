import {
  decideGate,
  hasFreePlace,
  letThrough,
  mayBeHandedPlace,
  type RateState,
} from '../../../execution/decide/gates.ts';
import type { ExecutionRecord, Submission } from '../../../execution/execution.ts';
import type { Instant } from '../../../support/clock.ts';
import type { PlaceBook } from './books.ts';
import { Heap } from './heap.ts';
import { type Entry, type ExecutionState, inProject } from './state.ts';

type Keyed = Pick<Submission, 'project' | 'concurrency' | 'rate'>;

/** the limit is that of the last submit, also for those who wait; whether all places are taken. */
export function noteLimit(state: ExecutionState, submission: Keyed): boolean {
  const places = placesOf(state, submission);
  if (places === undefined || submission.concurrency === undefined) return false;
  places.limit = submission.concurrency.limit;
  handOn(state, places, state.kernel.now());
  return !hasFreePlace(places);
}

/** Whether an execution that is ready may be claimed now. Who may not is held or comes later. */
export function passGate(state: ExecutionState, entry: Entry, now: Instant): boolean {
  const { execution } = entry;
  if (!execution.gated) return true;
  const places = placesOf(state, execution);
  const decision = decideGate({ execution, places, rate: rateOf(state, execution) }, now);
  state.put(entry, decision.execution);
  if (decision.kind === 'behind') {
    waitForPlace(state, decision.execution);
    return false;
  }
  if (places !== undefined && !execution.hasPlace) places.taken += 1;
  noteRate(state, execution, decision.rate);
  return decision.kind === 'pass';
}

/** It has the hold `behind-key`: from now on it is found when a place is free. */
export function waitForPlace(state: ExecutionState, execution: ExecutionRecord): void {
  const { id, lane, readyAt } = execution;
  if (readyAt === undefined) return;
  placesOf(state, execution)?.waiting[lane].push({ at: readyAt, id });
}

/** The place of an execution that ended goes on; interactive before batch. */
export function freePlace(state: ExecutionState, ended: ExecutionRecord, now: Instant): void {
  const places = ended.hasPlace ? placesOf(state, ended) : undefined;
  if (places === undefined) return;
  places.taken -= 1;
  handOn(state, places, now);
}

/** Free places go to whoever waits. */
export function handOn(state: ExecutionState, places: PlaceBook, now: Instant): void {
  while (hasFreePlace(places)) {
    const next = takeWaiting(state, places);
    if (next === undefined) return;
    const handed = letThrough(next.execution, rateOf(state, next.execution), now);
    places.taken += 1;
    noteRate(state, next.execution, handed.rate);
    state.put(next, handed.execution);
  }
}

/** Who was paused meanwhile is passed over for good: when it is resumed it asks again. */
function takeWaiting(state: ExecutionState, { waiting }: PlaceBook): Entry | undefined {
  for (const heap of [waiting.interactive, waiting.batch]) {
    for (let due = heap.pop(); due !== undefined; due = heap.pop()) {
      const entry = state.entries.get(due.id);
      if (entry === undefined || !entry.execution.holds.includes('behind-key')) continue;
      if (mayBeHandedPlace(entry.execution)) return entry;
    }
  }
  return undefined;
}

function placesOf(state: ExecutionState, { project, concurrency }: Keyed): PlaceBook | undefined {
  if (concurrency === undefined) return undefined;
  const name = inProject(project, concurrency.key);
  const known = state.places.get(name);
  if (known !== undefined) return known;
  const waiting = { interactive: new Heap(), batch: new Heap() };
  const places: PlaceBook = { limit: concurrency.limit, taken: 0, gated: 0, waiting };
  state.places.set(name, places);
  return places;
}

function rateOf(state: ExecutionState, { project, rate }: Keyed): RateState | undefined {
  return rate === undefined ? undefined : state.rates.get(inProject(project, rate.key));
}

function noteRate(
  state: ExecutionState,
  { project, rate }: Keyed,
  next: RateState | undefined,
): void {
  if (rate === undefined || next === undefined) return;
  state.rates.set(inProject(project, rate.key), next);
}
