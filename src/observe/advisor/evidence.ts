// Is there enough to advise on? A number whose interval is wide is only a gap when the advice depends
// on it: the choice is made again at both ends, and what the choice at hand would cost there is
// compared with the best that could be had.

import { judge, search } from './candidate.ts';
import type { Goals } from './goals.ts';
import type { LeaseModel, LeaseSettings } from './model.ts';
import { TAIL_MIN } from './pause-law.ts';
import { HOURS_PER_1000_DAYS, lossesByPauses, renewing } from './predict.ts';
import { EVENTS_ENOUGH, estimateRate, exactly, SPREAD_MAX, spreadOf } from './rate.ts';

export interface MissingEvidence {
  readonly what: 'settings' | 'renewals' | 'crashes' | 'pauses' | 'checkpoints';
  readonly have: string;
  readonly need: string;
  /** How much longer to record, with as many sessions as now; absent when that does not help. */
  readonly recordHours?: number;
}

const RENEWALS_MIN = 500;
/** A choice that costs no more than this above the best is as good as it. */
export const REGRET_MAX = 0.1;

/** Without these nothing can be said. */
export function missingAtAll(model: LeaseModel, hasSettings: boolean): readonly MissingEvidence[] {
  const missing: MissingEvidence[] = [];
  if (!hasSettings) {
    missing.push({
      what: 'settings',
      have: 'no report of a session’s settings',
      need: 'a log from `recordLeases` given to `openSession` as its observer',
    });
  }
  if (model.renewals < RENEWALS_MIN) {
    const perHour = model.sessionHours > 0 ? model.renewals / model.sessionHours : 0;
    missing.push({
      what: 'renewals',
      have: `${model.renewals} renewals`,
      need: `${RENEWALS_MIN}, to know how late one in a thousand is`,
      ...(perHour > 0 ? { recordHours: (RENEWALS_MIN - model.renewals) / perHour } : {}),
    });
  }
  if (model.renewals >= RENEWALS_MIN && model.sessionHours <= 0) {
    missing.push({
      what: 'renewals',
      have: `${model.renewals} renewals, in no time`,
      need: 'reports whose times go on: was the clock set back?',
    });
  }
  return missing;
}

/** What is known too vaguely for this choice; `model` at either end of what is uncertain. */
export function missingFor(
  model: LeaseModel,
  goals: Goals,
  chosen: LeaseSettings,
): readonly MissingEvidence[] {
  return [...missingCrashes(model, goals, chosen), ...missingPauses(model, goals, chosen)];
}

/** Whether goals that seem to conflict do so only because of pauses that nobody has seen. */
export function missingInConflict(model: LeaseModel, goals: Goals): readonly MissingEvidence[] {
  if (model.pauses.count >= TAIL_MIN) return [];
  const found = search({ ...model, pauses: model.pauses.atLeast() }, goals);
  return found.kind === 'found' ? [pausesNeeded(model, goals)] : [];
}

/** Too few pauses for a law: then only the time watched says that longer ones are rare enough. */
function missingPauses(
  model: LeaseModel,
  goals: Goals,
  chosen: LeaseSettings,
): readonly MissingEvidence[] {
  if (model.pauses.count >= TAIL_MIN) return [];
  const { high } = lossesByPauses(renewing(model, chosen, chosen.ttlMs), model.pauses);
  const isWithin = high * HOURS_PER_1000_DAYS <= goals.falseLossesPer1000LeaseDaysMax;
  return isWithin ? [] : [pausesNeeded(model, goals)];
}

function pausesNeeded(model: LeaseModel, goals: Goals): MissingEvidence {
  const { sessionHours, pauses } = model;
  const limit = goals.falseLossesPer1000LeaseDaysMax;
  const hours = (estimateRate(pauses.count, 1).high * HOURS_PER_1000_DAYS) / limit;
  return {
    what: 'pauses',
    have: `${pauses.count} pauses in ${sessionHours.toPrecision(3)} hours of sessions`,
    need: `${TAIL_MIN} of them to know how long they get, or ${Math.ceil(hours)} hours without another: false losses must stay within ${limit} per 1,000 lease-days`,
    ...(hours > sessionHours ? { recordHours: hours - sessionHours } : {}),
  };
}

function missingCrashes(
  model: LeaseModel,
  goals: Goals,
  chosen: LeaseSettings,
): readonly MissingEvidence[] {
  const { crashesPerHour, crashes, sessionHours } = model;
  if (spreadOf(crashesPerHour) <= SPREAD_MAX) return [];
  const ends = [crashesPerHour.low, crashesPerHour.high].map((rate) => ({
    ...model,
    crashesPerHour: exactly(rate),
  }));
  const regret = Math.max(...ends.map((end) => regretOf(end, goals, chosen)));
  if (regret <= REGRET_MAX) return [];
  return [
    {
      what: 'crashes',
      have: `${crashes} crashes in ${sessionHours.toPrecision(3)} hours of sessions`,
      need: `${EVENTS_ENOUGH}: the advice depends on how often holders die, and would cost up to ${Math.round(regret * 100)} % more than the best`,
      recordHours: Math.max(0, EVENTS_ENOUGH / crashesPerHour.mean - sessionHours),
    },
  ];
}

/** By how much this choice is dearer than the best, if the world is like this model. */
function regretOf(model: LeaseModel, goals: Goals, chosen: LeaseSettings): number {
  const found = search(model, goals);
  if (found.kind === 'conflict') return 0;
  return judge(model, goals, chosen).cost / found.best.cost - 1;
}
