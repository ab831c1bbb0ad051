// Alert rules of a channel (CH-14, CH-15). A coordinator reads the figures of the project and compares
// them with the limits of the channel. An alert is one incident: it is raised once and cleared once.

import type { Instant } from '../../support/clock.ts';
import type { ChannelContent } from './model.ts';

export const ALERT_RULES = ['dead-letter-rate', 'queue-age', 'no-workers'] as const;

export type AlertRule = (typeof ALERT_RULES)[number];

export const ALERT_EVENTS = ['alert-raised', 'alert-cleared'] as const;

/** The limits of a channel. A rule without a limit is off. */
export interface AlertLimits {
  /** Executions of one pipeline that failed or were quarantined within the window. */
  readonly deadLetters?: number;
  readonly windowMs?: number;
  /** The longest time that an execution is ready and no worker takes it. */
  readonly queueAgeMs?: number;
  /** The same, while no live worker serves its pipeline. */
  readonly noWorkersMs?: number;
}

const MINUTE = 60_000;

export const ALERT_WINDOW_MS = 15 * MINUTE;

/** The limits of a channel that asks for alerts and names none. */
export const DEFAULT_ALERTS: AlertLimits = {
  ...{ deadLetters: 10, windowMs: ALERT_WINDOW_MS },
  ...{ queueAgeMs: 15 * MINUTE, noWorkersMs: MINUTE },
};

/** Undefined if the channel asks for no alerts. */
export function alertLimitsOf({
  events,
  alerts = DEFAULT_ALERTS,
}: Pick<ChannelContent, 'events' | 'alerts'>): AlertLimits | undefined {
  if (!ALERT_EVENTS.some((each) => events.includes(each))) return undefined;
  return alerts.deadLetters === undefined ? alerts : { windowMs: ALERT_WINDOW_MS, ...alerts };
}

/** The figures of one route: a pipeline, or a pipeline and a release. */
export interface RouteReading {
  readonly route: string;
  readonly deadLetters: number;
  /** How long its oldest ready execution has waited. */
  readonly waitedMs: number;
  /** A live worker serves it. */
  readonly isServed: boolean;
}

/** A rule that one route breaks, or nearly breaks. */
export interface AlertReading {
  readonly rule: AlertRule;
  readonly route: string;
  readonly value: number;
  readonly threshold: number;
}

export interface AlertsRead {
  /** At or above the threshold: raises an alert. */
  readonly over: readonly AlertReading[];
  /** Above half of it: keeps an alert. */
  readonly near: readonly AlertReading[];
}

/**
 * An alert is cleared after this many rounds in a row in which its value was at most half the
 * threshold.
 */
export const CALM_ROUNDS = 2;

/** The most alerts that one round raises. The next round raises more. */
export const RAISED_MAX = 100;

export function readAlerts(limits: AlertLimits, readings: readonly RouteReading[]): AlertsRead {
  const { deadLetters, queueAgeMs, noWorkersMs } = limits;
  const found = readings.flatMap(({ route, isServed, waitedMs, ...reading }) => {
    const measured = [
      { rule: 'dead-letter-rate', value: reading.deadLetters, threshold: deadLetters },
      { rule: 'queue-age', value: waitedMs, threshold: queueAgeMs },
      { rule: 'no-workers', value: isServed ? 0 : waitedMs, threshold: noWorkersMs },
    ] as const;
    return measured.flatMap(({ threshold, ...each }): readonly AlertReading[] =>
      threshold === undefined ? [] : [{ ...each, route, threshold }],
    );
  });
  return {
    over: found.filter(({ value, threshold }) => value >= threshold),
    near: found.filter(({ value, threshold }) => value < threshold && value > threshold / 2),
  };
}

/** An alert as the store has it. */
export interface Alert extends Pick<AlertReading, 'rule' | 'route'> {
  /** The same in both of its messages, and of no other alert. */
  readonly incident: string;
  readonly raisedAt: Instant;
}
