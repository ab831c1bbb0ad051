import type { AwaitUnit } from '../../../execution/await.ts';
import { decideDue } from '../../../execution/decide/await.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import type { Instant } from '../../../support/clock.ts';
import type { AwaitsExpired, ExpireAwaits } from '../../contract/await-store.ts';
import { answeredOf, applyChange, unitEntry } from './awaits.ts';
import type { ExecutionState } from './state.ts';
import { submit } from './submit.ts';

/** W-6. */
export function expireAwaits(
  state: ExecutionState,
  { execution, limit }: ExpireAwaits,
): AwaitsExpired {
  const now = state.kernel.now();
  const nextDue = (): AwaitUnit | undefined =>
    execution === undefined ? firstDue(state, now) : dueOf(state, execution, now);
  let [settled, started, seen] = [0, 0, 0];
  for (let unit = nextDue(); unit !== undefined && seen < limit; unit = nextDue()) {
    const done = expire(state, unit, now);
    settled += done.settled;
    started += done.started;
    seen += 1;
  }
  const next = firstOpen(state)?.nextAt;
  return {
    settled,
    started,
    more: nextDue() !== undefined,
    ...(next === undefined ? {} : { nextInMs: Math.max(0, next - now) }),
  };
}

function expire(
  state: ExecutionState,
  unit: AwaitUnit,
  now: Instant,
): { readonly settled: number; readonly started: number } {
  const entry = unitEntry(state, unit.execution, unit.call);
  const due = decideDue({ unit, answered: () => answeredOf(state, entry) }, now);
  if (due === undefined) return { settled: 0, started: 0 };
  applyChange(state, due.change, now);
  const answers = due.starts.map((start) => submit(state, start));
  return {
    settled: due.change.unit.status === 'open' ? 0 : 1,
    started: answers.filter((each) => each.kind === 'submitted' && !each.existing).length,
  };
}

function firstDue(state: ExecutionState, now: Instant): AwaitUnit | undefined {
  const unit = firstOpen(state);
  return unit?.nextAt !== undefined && unit.nextAt <= now ? unit : undefined;
}

/** Of all, the one that is due first; drops what was settled or put off since. */
function firstOpen(state: ExecutionState): AwaitUnit | undefined {
  const { dueAwaits } = state;
  for (let due = dueAwaits.peek(); due !== undefined; due = dueAwaits.peek()) {
    for (const { unit } of state.awaits.get(due.id)?.values() ?? []) {
      if (unit?.nextAt === due.at) return unit;
    }
    dueAwaits.pop();
  }
  return undefined;
}

function dueOf(state: ExecutionState, id: ExecutionId, now: Instant): AwaitUnit | undefined {
  return [...(state.awaits.get(id)?.values() ?? [])]
    .map(({ unit }) => unit)
    .find((unit) => unit?.nextAt !== undefined && unit.nextAt <= now);
}
