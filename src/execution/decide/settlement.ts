// What a unit comes to when it settles, and when something is due of it before. Pure.

import { type Instant, laterBy } from '../../support/clock.ts';
import { type AwaitStatus, type AwaitUnit, type Interaction, isSettled } from '../await.ts';
import type { Payload } from '../names.ts';

/** W-6: how it settles when its time has passed. */
export function timeOutStatus({ defaultAnswer }: AwaitUnit): 'timed-out' | 'answered' {
  return defaultAnswer === undefined ? 'timed-out' : 'answered';
}

/** What the engine reads; payloads are JSON already. */
export function settlementOf(
  unit: AwaitUnit,
  how: {
    readonly status: AwaitStatus;
    readonly interactions: readonly Interaction[];
    readonly byDefault: boolean;
  },
): Payload {
  const answers = how.interactions
    .filter(({ answer, status }) => answer !== undefined && status === 'answered')
    .toSorted((a, b) => a.item - b.item)
    .map(({ item, answer }) => {
      const by = answer?.by === undefined ? '' : `,"by":${JSON.stringify(answer.by)}`;
      return `{"item":${item},"at":${answer?.at},"out":${answer?.value}${by}}`;
    });
  const fallback = how.byDefault ? `,"default":${unit.defaultAnswer}` : '';
  return `{"status":"${how.status}","answers":[${answers.join(',')}]${fallback}}` as Payload;
}

/** Derived, so that nobody forgets: the soonest of reminders and timeout, while it is open. */
export function withNext(unit: AwaitUnit): AwaitUnit {
  const { nextAt: _, ...rest } = unit;
  if (isSettled(rest)) return rest;
  const [reminder] = rest.reminders;
  const times = [
    ...(rest.dueAt === undefined ? [] : [rest.dueAt]),
    ...(reminder === undefined ? [] : [laterBy(rest.openedAt, reminder.afterMs)]),
  ];
  return times.length === 0 ? rest : { ...rest, nextAt: Math.min(...times) as Instant };
}
