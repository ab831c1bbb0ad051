// Formats the advice as sentences: its basis, its trade-offs and its obstacles.

import type { Candidate, Constraint } from './candidate.ts';
import type { Goals } from './goals.ts';
import type { LeaseModel } from './model.ts';
import { longestHeartbeat } from './predict.ts';
import type { Estimate } from './rate.ts';

const DAYS_30_HOURS = 720;
const DAY_MS = 86_400_000;

/** Each constraint in words, for people. */
export const CONSTRAINT_WORDS: Readonly<Record<Constraint, string>> = {
  attempts: 'at least three attempts of a renewal must fit into the authority',
  pauses: 'the authority must outlast a pause that one heartbeat in ten thousand meets',
  'longest-effect': 'the longest effect must fit between two heartbeats',
  takeover: 'the takeover p99 must stay within its limit',
  'false-losses': 'false losses must stay within their limit',
};

/**
 * Returns a duration as text, in ms, s or min.
 *
 * @example
 * console.log(showMs(90_000));
 */
export function showMs(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${Number((ms / 1_000).toPrecision(3))} s`;
  return `${Number((ms / 60_000).toPrecision(3))} min`;
}

/**
 * Returns an estimate as text: the mean, and the interval in parentheses.
 *
 * @example
 * console.log(showEstimate({ mean: 2, low: 1.2, high: 3.1 }));
 */
export function showEstimate({ mean, low, high }: Estimate): string {
  const show = (value: number): string => {
    if (value === 0) return '0';
    if (value < 0.01) return '< 0.01';
    return String(Number(value.toPrecision(2)));
  };
  return `${show(mean)} (${show(low)} to ${show(high)})`;
}

export function reasonsFor(advice: {
  readonly model: LeaseModel;
  readonly goals: Goals;
  readonly chosen: Candidate;
  readonly current: Candidate;
  readonly keep: boolean;
  readonly gainShare: number;
  readonly found: { readonly binding: Constraint | undefined };
}): readonly string[] {
  const { model, chosen, current, keep, gainShare, found } = advice;
  const percent = Math.round(gainShare * 100);
  const verdict = keep
    ? `Keep the current settings: the best ones found are ${Math.max(0, percent)} % cheaper. That is less than 10 %, or less than the uncertainty.`
    : current.broken.length > 0
      ? `The current settings break a limit: ${current.broken.map((name) => CONSTRAINT_WORDS[name]).join('; ')}.`
      : `This is ${percent} % cheaper than the current settings, by the prices given.`;
  const binding =
    found.binding === undefined
      ? 'No limit decides: the prices of takeover, false loss and writes balance here.'
      : `One limit decides: ${CONSTRAINT_WORDS[found.binding]}. Without it, a cheaper setting exists.`;
  return [
    verdict,
    binding,
    `The median takeover takes ttl − heartbeat/2 + ${showMs(model.takeoverDelayMs)}, because a holder can die at any moment between two heartbeats.`,
    `${chosen.predicted.attemptsThatFit} attempts of a renewal fit. Each fails with probability ${model.failure.mean.toPrecision(2)}.`,
    pauseWords(model),
    ...heartbeatWords(advice),
    ...checkpointWords(model, chosen),
  ];
}

function pauseWords(model: LeaseModel): string {
  const { pauses, sessionHours } = model;
  if (pauses.tail.kind === 'assumed') {
    const longest = pauses.lengthAt(1 / DAYS_30_HOURS);
    return `The assumed pauses include one in thirty days that lasts longer than ${showMs(longest)}.`;
  }
  return `Sessions had ${pauses.count} pauses in ${sessionHours.toPrecision(3)} hours. The model for longer ones is ${tailWords(model)}.`;
}

function tailWords(model: LeaseModel): string {
  const { tail } = model.pauses;
  if (model.pauses.count === 0) return 'unknown, because there were none';
  return tail.kind === 'pareto'
    ? 'a generalised Pareto law fitted to the longest of them'
    : 'Cantelli’s inequality, because there were too few for a better one';
}

/**
 * The result of failure-detector theory for the heartbeat, for users that send heartbeats
 * themselves.
 */
function heartbeatWords(advice: {
  readonly model: LeaseModel;
  readonly goals: Goals;
  readonly chosen: Candidate;
}): readonly string[] {
  const { model, goals, chosen } = advice;
  const { ttlMs, heartbeatMs } = chosen.settings;
  const longest = longestHeartbeat({
    detectionMs: ttlMs,
    betweenMistakesMs: (1_000 * DAY_MS) / goals.falseLossesPer1000LeaseDaysMax,
    mistakeMs: ttlMs,
    lossProbability: model.failure.mean,
    delayVarianceMs2: model.roundTripVarianceMs2,
  });
  if (longest >= heartbeatMs) return [];
  return [
    `Chen, Toueg and Aguilera require a heartbeat of at most ${showMs(longest)} if failed heartbeats are not repeated. Sessions repeat them every ttl / 20.`,
  ];
}

function checkpointWords(model: LeaseModel, chosen: Candidate): readonly string[] {
  const { checkpointMs } = chosen.settings;
  if (checkpointMs === undefined || model.checkpointCostMs === undefined) {
    if (model.pauses.tail.kind === 'assumed') return [];
    return ['The log has no checkpoint, so there is no advice on how often to save.'];
  }
  return [
    `A checkpoint takes ${showMs(model.checkpointCostMs)}; √(2·cost/losses) gives ${showMs(checkpointMs)} of work between two. Save at the next end of a step. Half or twice as much costs a quarter more.`,
  ];
}

export function conflictReasons(all: readonly Candidate[], goals: Goals): readonly string[] {
  const shortEnough = all.filter(({ broken }) => !broken.includes('takeover')).at(-1);
  const safeEnough = all.find(({ broken }) => broken.every((name) => name === 'takeover'));
  const reasons: string[] = [];
  if (shortEnough !== undefined) {
    reasons.push(
      `A takeover p99 of ${showMs(goals.takeoverP99MsMax)} needs a ttl of at most ${showMs(shortEnough.settings.ttlMs)}. ` +
        `That breaks this limit: ${shortEnough.broken.map((name) => CONSTRAINT_WORDS[name]).join('; ')}.`,
    );
  }
  reasons.push(
    safeEnough === undefined
      ? `No ttl up to ${showMs(goals.ttlMsMax)} keeps the other limits: holders pause too long or too often. Find what blocks them first.`
      : `The other limits need a ttl of at least ${showMs(safeEnough.settings.ttlMs)}, with a takeover p99 of ${showMs(safeEnough.predicted.takeoverP99Ms)}.`,
  );
  return reasons;
}
