// When a schedule is due: every so often, or by a cron expression in a time zone. Cron is read by `croner`
// (ADR 0013), which is loaded when the first expression is met and not before.

import type { Cron } from 'croner';
import { dateOf, type Instant, laterBy, toInstant } from '../../support/clock.ts';
import { InvalidInput } from '../../support/fault.ts';

export type When =
  | { readonly every: number }
  | { readonly cron: string; readonly timeZone: string };

export interface Times {
  /** The first one after this; undefined when there is none. */
  after(at: Instant): Instant | undefined;
  /** From the first, which is one of them and is due, until now; the last `limit` of them, in order. */
  due(first: Instant, now: Instant, limit: number): readonly Instant[];
}

let loading: Promise<typeof import('croner')> | undefined;

export async function timesOf(when: When): Promise<Times> {
  if ('every' in when) return timesEvery(when.every);
  loading ??= import('croner');
  const { Cron } = await loading;
  const { cron, timeZone } = when;
  try {
    const times = timesByCron(new Cron(cron, { timezone: timeZone, mode: '5-part' }));
    // The time zone is looked at when it is needed.
    times.after(toInstant(0));
    return times;
  } catch (cause) {
    const what = cause instanceof Error ? cause.message : String(cause);
    throw new InvalidInput(
      `cron is minute, hour, day of month, month and day of week, such as "0 9 * * 1-5", in an IANA time zone, such as "Europe/Berlin". "${cron}" in "${timeZone}" is not: ${what}`,
    );
  }
}

function timesEvery(ms: number): Times {
  return {
    after: (at) => laterBy(at, ms),
    due(first, now, limit) {
      const newest = Math.floor((now - first) / ms);
      const count = Math.min(newest + 1, limit);
      return Array.from({ length: count }, (_, nth) =>
        laterBy(first, (newest - count + 1 + nth) * ms),
      );
    },
  };
}

function timesByCron(cron: Cron): Times {
  return {
    after(at) {
      const next = cron.nextRun(dateOf(at));
      return next === null ? undefined : toInstant(next.getTime());
    },
    due(first, now, limit) {
      // Backwards, so that years of downtime cost no more than days. It looks at whole seconds before this one.
      const found = cron
        .previousRuns(limit + 1, dateOf(laterBy(now, 1_000)))
        .map((date) => toInstant(date.getTime()))
        .filter((at) => at >= first && at <= now)
        .slice(0, limit)
        .reverse();
      return found.length === 0 ? [first] : found;
    },
  };
}
