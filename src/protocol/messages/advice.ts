// Advice on ttl and grace: goals, assumptions about sessions, and the recommendation.

import { type Static, Type } from 'typebox';
import {
  choice,
  closed,
  decimal,
  documented,
  flag,
  listOf,
  optional,
  text,
  titled,
} from './words.ts';

const ms = Type.Number({ minimum: 0, maximum: 604_800_000, description: 'Milliseconds.' });
const rate = Type.Number({ minimum: 0, maximum: 1_000_000 });

/** In the order in which forms ask for them. */
const ASSUMED = {
  ttlMs: Type.Number({
    minimum: 10,
    maximum: 604_800_000,
    description: 'Current ttl, in milliseconds.',
    examples: [15_000],
  }),
  graceMs: documented(ms, 'Current grace, in milliseconds.', 5_000),
  roundTripMs: Type.Number({
    minimum: 0,
    maximum: 600_000,
    description: 'Usual round trip of a heartbeat, in milliseconds.',
    examples: [4],
  }),
  roundTripTailMs: Type.Number({
    minimum: 0,
    maximum: 600_000,
    description: 'Slowest round trip in a thousand, in milliseconds.',
    examples: [120],
  }),
  failuresPer1000: Type.Number({
    minimum: 0,
    maximum: 990,
    description: 'Heartbeats without a response, in a thousand.',
    examples: [1],
  }),
  pausesPerDay: documented(rate, 'Pauses of a process per day.', 2),
  pauseMs: Type.Number({
    minimum: 1,
    maximum: 604_800_000,
    description: 'Mean length of a pause, in milliseconds.',
    examples: [800],
  }),
  crashesPerMonth: documented(rate, 'Crashes of a process per month.', 1),
};

const assumptions = closed(ASSUMED, { title: 'Assumptions', description: 'Basis of the advice.' });

export type AssumptionsMessage = Static<typeof assumptions>;

export const adviceQuery = closed(
  {
    preset: optional(
      choice(
        ['batch', 'interactive', 'money'],
        'Goals for a kind of work. Goals that you name replace those of the preset.',
      ),
    ),
    takeoverMs: optional(
      Type.Number({
        minimum: 1,
        maximum: 604_800_000,
        description: 'Longest takeover after a crash that you accept, in milliseconds.',
        examples: [30_000],
      }),
    ),
    falseLosses: optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: 1_000_000,
        description: 'Most leases that live processes may lose, per 1,000 lease-days.',
        examples: [1],
      }),
    ),
    effectMs: optional(ms, 'Longest external effect of the work, in milliseconds.', 2_000),
    ...Type.Partial(assumptions).properties,
  },
  { description: 'Values that you leave out are measured by this coordinator, or assumed.' },
);

export type AdviceQuery = Static<typeof adviceQuery>;

const takeoverP50Ms = decimal('Median takeover time, in milliseconds.');
const falseLosses = decimal('Leases that live processes lose, per 1,000 lease-days.');

const predicted = closed(
  {
    takeoverP50Ms,
    takeoverP99Ms: decimal('99th percentile of takeover, in milliseconds.'),
    falseLosses,
    storeWritesPerSecond: decimal('Heartbeats that the store writes per second.'),
  },
  { title: 'Predicted', description: 'Prediction for these settings.' },
);

export type PredictedMessage = Static<typeof predicted>;

const point = closed(
  {
    ttlMs: decimal('Ttl, in milliseconds.'),
    takeoverP50Ms,
    falseLosses,
    keeps: flag('True if it meets all goals.'),
  },
  { title: 'AdvicePoint' },
);

const reasons = listOf(Type.String(), 'Reasons, for people.');

export const advised = closed(
  {
    assumed: assumptions,
    measured: listOf(
      Type.String(),
      'Assumptions that this coordinator measured itself. You passed the others, or they are guesses.',
    ),
    heartbeats: Type.Integer({
      minimum: 0,
      description: 'Number of heartbeats that it measured. 0 for keys for one project.',
    }),
    sessions: Type.Integer({ minimum: 0, description: 'Number of live sessions, at most 500.' }),
    advice: Type.Union(
      [
        closed(
          {
            kind: Type.Literal('recommendation', { description: 'The goals can be met.' }),
            verdict: choice(['change', 'keep'], '`keep`: the current settings meet the goals.'),
            ttlMs: decimal('Recommended ttl, in milliseconds.'),
            heartbeatMs: decimal('Recommended interval of heartbeats, in milliseconds.'),
            graceMs: decimal('Recommended grace, in milliseconds.'),
            predicted: documented(predicted, 'Prediction for the recommended settings.'),
            current: documented(predicted, 'Prediction for the current settings.'),
            binding: optional(text('The goal that allows no better settings.')),
            reasons,
            points: listOf(point, 'All settings that were compared.'),
          },
          { title: 'Recommendation' },
        ),
        closed(
          {
            kind: Type.Literal('goals-conflict', { description: 'No settings meet all goals.' }),
            between: listOf(Type.String(), 'The goals that conflict.'),
            reasons,
          },
          { title: 'GoalsConflict' },
        ),
      ],
      { description: 'A recommendation, or why there is none.' },
    ),
  },
  titled('Advised', {
    assumed: {
      ...{ ttlMs: 15_000, graceMs: 5_000, roundTripMs: 4, roundTripTailMs: 120 },
      ...{ failuresPer1000: 1, pausesPerDay: 2, pauseMs: 800, crashesPerMonth: 1 },
    },
    measured: ['roundTripMs'],
    heartbeats: 12_000,
    sessions: 8,
    advice: {
      kind: 'recommendation',
      verdict: 'keep',
      ttlMs: 15_000,
      heartbeatMs: 5_000,
      graceMs: 5_000,
      predicted: {
        ...{ takeoverP50Ms: 12_500, takeoverP99Ms: 15_000 },
        ...{ falseLosses: 0.2, storeWritesPerSecond: 1.6 },
      },
      current: {
        ...{ takeoverP50Ms: 12_500, takeoverP99Ms: 15_000 },
        ...{ falseLosses: 0.2, storeWritesPerSecond: 1.6 },
      },
      reasons: ['The current settings meet all goals.'],
      points: [{ ttlMs: 15_000, takeoverP50Ms: 12_500, falseLosses: 0.2, keeps: true }],
    },
  }),
);

export type AdvisedMessage = Static<typeof advised>;

/** Includes the settings of the live sessions. */
export interface AdviceRequest {
  readonly query: AdviceQuery;
  readonly live: readonly { readonly ttlMs: number; readonly graceMs: number }[];
  /**
   * Measurements of heartbeats cover all projects, so only callers with access to all projects see
   * them.
   */
  readonly isOfAll: boolean;
}
