// The advisor of a coordinator. It measures the duration and the failures of heartbeats itself. The
// caller supplies pauses and deaths of holders, or the advisor assumes them (ADR 0033).

import { Histogram } from '../observe/advisor/histogram.ts';
import { type Advice, adviseAssuming, goalsOf, type Prediction } from '../observe/index.ts';
import type {
  AdviceQuery,
  AdviceRequest,
  AdvisedMessage,
  AssumptionsMessage,
  PredictedMessage,
} from '../protocol/messages/advice.ts';
import type { CoordinatorStore } from '../store/contract/execution-store.ts';
import { type Clock, systemClock } from '../support/clock.ts';
import { present } from '../support/options.ts';

/** With fewer heartbeats, the slowest in a thousand cannot be estimated. */
const HEARTBEATS_MIN = 500;

/** Usual values of a service on one network, for everything that is not measured or given. */
const USUAL: AssumptionsMessage = {
  ttlMs: 30_000,
  graceMs: 6_000,
  roundTripMs: 5,
  roundTripTailMs: 250,
  failuresPer1000: 0.1,
  pausesPerDay: 10,
  pauseMs: 300,
  crashesPerMonth: 1,
};

const NAMES = Object.keys(USUAL) as (keyof AssumptionsMessage)[];

export class Advisor {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #roundTrips: Histogram = new Histogram();
  #failures = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'> = systemClock) {
    this.#clock = clock;
  }

  /** The same store, with timed heartbeats. */
  watch(store: CoordinatorStore): CoordinatorStore {
    const { sessions } = store;
    const heartbeat: typeof sessions.heartbeat = async (request) => {
      const sentAt = this.#clock.monotonicMs();
      try {
        const result = await sessions.heartbeat(request);
        this.#roundTrips.add(this.#clock.monotonicMs() - sentAt);
        return result;
      } catch (fault) {
        this.#failures += 1;
        throw fault;
      }
    };
    return { ...store, sessions: { ...sessions, heartbeat } };
  }

  advise({ query, live, isOfAll }: AdviceRequest): AdvisedMessage {
    const measured = { ...(isOfAll ? this.#measured() : {}), ...commonest(live) };
    const assumed = Object.fromEntries(
      NAMES.map((name) => [name, query[name] ?? measured[name] ?? USUAL[name]]),
    ) as AssumptionsMessage;
    const graceMs = Math.min(assumed.graceMs, assumed.ttlMs / 2);
    const fitting = {
      ...assumed,
      graceMs,
      roundTripTailMs: Math.max(assumed.roundTripMs, assumed.roundTripTailMs),
    };
    return {
      assumed: fitting,
      measured: NAMES.filter((name) => query[name] === undefined && measured[name] !== undefined),
      heartbeats: isOfAll ? this.#roundTrips.count : 0,
      sessions: live.length,
      advice: adviceMessage(adviseAssuming(fitting, goalsFrom(query))),
    };
  }

  #measured(): Partial<AssumptionsMessage> {
    const { count } = this.#roundTrips;
    if (count < HEARTBEATS_MIN) return {};
    return {
      roundTripMs: this.#roundTrips.quantile(0.5),
      roundTripTailMs: this.#roundTrips.quantile(0.999),
      failuresPer1000: (1_000 * this.#failures) / (count + this.#failures),
    };
  }
}

/** The settings of most sessions. */
function commonest(live: AdviceRequest['live']): Partial<AssumptionsMessage> {
  const counts = new Map<string, number>();
  for (const { ttlMs, graceMs } of live) {
    const name = `${ttlMs} ${graceMs}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const [most] = [...counts].sort(([, one], [, other]) => other - one);
  const found = live.find(({ ttlMs, graceMs }) => most?.[0] === `${ttlMs} ${graceMs}`);
  return found === undefined ? {} : { ttlMs: found.ttlMs, graceMs: found.graceMs };
}

function goalsFrom(query: AdviceQuery): ReturnType<typeof goalsOf> {
  const { preset = 'batch', takeoverMs, falseLosses, effectMs } = query;
  return goalsOf(preset, {
    ...present({
      takeoverP99MsMax: takeoverMs,
      falseLossesPer1000LeaseDaysMax: falseLosses,
      longestEffectMs: effectMs,
    }),
  });
}

function adviceMessage(advice: Advice): AdvisedMessage['advice'] {
  if (advice.kind === 'recommendation') {
    const { kind, verdict, ttlMs, heartbeatMs, graceMs, binding, reasons } = advice;
    return {
      ...{ kind, verdict, ttlMs, heartbeatMs, graceMs, reasons: [...reasons] },
      predicted: predictedMessage(advice.predicted),
      current: predictedMessage(advice.current.predicted),
      ...(binding === undefined ? {} : { binding }),
      points: advice.candidates.map(({ settings, predicted, broken }) => {
        const { takeoverP50Ms, falseLosses } = predictedMessage(predicted);
        return { ttlMs: settings.ttlMs, takeoverP50Ms, falseLosses, keeps: broken.length === 0 };
      }),
    };
  }
  if (advice.kind === 'goals-conflict') {
    const { kind, between, reasons } = advice;
    return { kind, between: [...between], reasons: [...reasons] };
  }
  // Every value is known or assumed, so nothing should be missing here.
  const missing = advice.missing.map(({ have, need }) => `${have}; needed: ${need}`);
  return { kind: 'goals-conflict', between: [], reasons: missing };
}

function predictedMessage(predicted: Prediction): PredictedMessage {
  const { takeoverP50Ms, takeoverP99Ms, storeWritesPerSecond } = predicted;
  const { mean } = predicted.falseLossesPer1000LeaseDays;
  return { takeoverP50Ms, takeoverP99Ms, falseLosses: mean, storeWritesPerSecond };
}
