// The advice in sentences: the verdict, the limiting factor and the assumptions behind it.

import type { Candidate, Constraint } from './candidate.ts';
import type { Goals } from './goals.ts';
import type { LeaseModel } from './model.ts';
import { longestHeartbeat } from './predict.ts';
import type { Estimate } from './rate.ts';

const DAYS_30_HOURS = 720;
const DAY_MS = 86_400_000;

export const CONSTRAINT_WORDS: Readonly<Record<Constraint, string>> = {
  attempts: 'at least three renewal attempts must fit into the authority',
  pauses: 'the authority must outlast the pause that hits one heartbeat in ten thousand',
  'longest-effect': 'the longest effect must fit between two heartbeats',
  takeover: 'the takeover p99 must stay within its limit',
  'false-losses': 'false losses must stay within their limit',
};

export function showMs(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${Number((ms / 1_000).toPrecision(3))} s`;
  return `${Number((ms / 60_000).toPrecision(3))} min`;
}

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
    ? `Keep the current settings: the best alternative costs ${Math.max(0, percent)} % less, which is below 10 % or within the uncertainty.`
    : current.broken.length > 0
      ? `The current settings break a limit: ${current.broken.map((name) => CONSTRAINT_WORDS[name]).join('; ')}.`
      : `${percent} % lower cost than the current settings, at the given prices.`;
  const binding =
    found.binding === undefined
      ? 'Limiting factor: none. The costs of takeover, false losses and writes balance here.'
      : `Limiting factor: ${CONSTRAINT_WORDS[found.binding]}. Without this limit, a cheaper setting exists.`;
  return [
    verdict,
    binding,
    `Takeover p50 is TTL − heartbeat/2 + ${showMs(model.takeoverDelayMs)}: on average, a holder dies halfway between two heartbeats.`,
    `${chosen.predicted.attemptsThatFit} renewal attempts fit into the authority; each fails with probability ${model.failure.mean.toPrecision(2)}.`,
    pauseWords(model),
    ...heartbeatWords(advice),
    ...checkpointWords(model, chosen),
  ];
}

function pauseWords(model: LeaseModel): string {
  const { pauses, sessionHours } = model;
  if (pauses.tail.kind === 'assumed') {
    const longest = pauses.lengthAt(1 / DAYS_30_HOURS);
    return `One assumed pause in 30 days exceeds ${showMs(longest)}.`;
  }
  return `${pauses.count} pauses observed in ${sessionHours.toPrecision(3)} session hours; the tail beyond them is ${tailWords(model)}.`;
}

function tailWords(model: LeaseModel): string {
  const { tail } = model.pauses;
  if (model.pauses.count === 0) return 'unknown, because no pause was observed';
  return tail.kind === 'pareto'
    ? 'a generalised Pareto distribution fitted to the longest ones'
    : 'bounded by Cantelli’s inequality, because there are too few to fit a distribution';
}

/** A shorter heartbeat that failure-detector theory requires if failed heartbeats are not retried early. */
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
    `Without early retries, a heartbeat of at most ${showMs(longest)} would be needed (Chen, Toueg and Aguilera). Holdfast retries failed heartbeats every TTL / 20.`,
  ];
}

function checkpointWords(model: LeaseModel, chosen: Candidate): readonly string[] {
  const { checkpointMs } = chosen.settings;
  if (checkpointMs === undefined || model.checkpointCostMs === undefined) {
    if (model.pauses.tail.kind === 'assumed') return [];
    return ['No checkpoint was recorded, so there is no advice on how often to save.'];
  }
  return [
    `A checkpoint takes ${showMs(model.checkpointCostMs)}; √(2·cost/losses) gives ${showMs(checkpointMs)} of work between checkpoints. Save at the first end of a step after that. Half or twice that interval costs a quarter more.`,
  ];
}

export function conflictReasons(all: readonly Candidate[], goals: Goals): readonly string[] {
  const shortEnough = all.filter(({ broken }) => !broken.includes('takeover')).at(-1);
  const safeEnough = all.find(({ broken }) => broken.every((name) => name === 'takeover'));
  const reasons: string[] = [];
  if (shortEnough !== undefined) {
    reasons.push(
      `A takeover p99 of ${showMs(goals.takeoverP99MsMax)} needs a TTL of at most ${showMs(shortEnough.settings.ttlMs)}, ` +
        `which breaks a limit: ${shortEnough.broken.map((name) => CONSTRAINT_WORDS[name]).join('; ')}.`,
    );
  }
  reasons.push(
    safeEnough === undefined
      ? `No TTL up to ${showMs(goals.ttlMsMax)} meets the other limits: holders pause too long or too often. Check what blocks them first.`
      : `The other limits need a TTL of at least ${showMs(safeEnough.settings.ttlMs)}, with a takeover p99 of ${showMs(safeEnough.predicted.takeoverP99Ms)}.`,
  );
  return reasons;
}
