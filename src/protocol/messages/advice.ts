// Advice on a ttl: the goals, the measured or assumed behaviour of sessions, and the
// recommendation.

import { type Static, Type } from 'typebox';
import { closed } from './words.ts';

const ms = Type.Number({ minimum: 0, maximum: 604_800_000 });
const rate = Type.Number({ minimum: 0, maximum: 1_000_000 });

/** In the order in which forms ask for them. */
const ASSUMED = {
  ttlMs: Type.Number({ minimum: 10, maximum: 604_800_000 }),
  graceMs: ms,
  roundTripMs: Type.Number({
    minimum: 0,
    maximum: 600_000,
    description: 'Of a heartbeat, usually.',
  }),
  roundTripTailMs: Type.Number({ minimum: 0, maximum: 600_000, description: 'One in a thousand.' }),
  failuresPer1000: Type.Number({
    minimum: 0,
    maximum: 990,
    description: 'Heartbeats without an answer.',
  }),
  pausesPerDay: rate,
  pauseMs: Type.Number({ minimum: 1, maximum: 604_800_000, description: 'On average.' }),
  crashesPerMonth: rate,
};

const assumptions = closed(ASSUMED);

export type AssumptionsMessage = Static<typeof assumptions>;

export const adviceQuery = closed(
  {
    preset: Type.Optional(Type.Enum(['batch', 'interactive', 'money'])),
    takeoverMs: Type.Optional(Type.Number({ minimum: 1, maximum: 604_800_000 })),
    falseLosses: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: 1_000_000,
        description: 'Per 1,000 lease-days, at most.',
      }),
    ),
    effectMs: Type.Optional(ms),
    ...Type.Partial(assumptions).properties,
  },
  { description: 'What is not said is measured here, or assumed.' },
);

export type AdviceQuery = Static<typeof adviceQuery>;

const predicted = closed({
  takeoverP50Ms: Type.Number(),
  takeoverP99Ms: Type.Number(),
  falseLosses: Type.Number({ description: 'Per 1,000 lease-days.' }),
  storeWritesPerSecond: Type.Number(),
});

export type PredictedMessage = Static<typeof predicted>;

const point = closed({
  ttlMs: Type.Number(),
  takeoverP50Ms: Type.Number(),
  falseLosses: Type.Number(),
  keeps: Type.Boolean({ description: 'All limits.' }),
});

export const advised = closed({
  assumed: assumptions,
  measured: Type.Array(Type.String(), {
    description:
      'Which of them this coordinator has seen itself; the others were said or are guesses.',
  }),
  heartbeats: Type.Integer({
    minimum: 0,
    description: 'So many were seen here; told to keys of all projects, 0 to others.',
  }),
  sessions: Type.Integer({
    minimum: 0,
    description: 'So many live now, as far as it was looked.',
  }),
  advice: Type.Union([
    closed({
      kind: Type.Literal('recommendation'),
      verdict: Type.Enum(['change', 'keep']),
      ttlMs: Type.Number(),
      heartbeatMs: Type.Number(),
      graceMs: Type.Number(),
      predicted,
      current: predicted,
      binding: Type.Optional(Type.String()),
      reasons: Type.Array(Type.String()),
      points: Type.Array(point),
    }),
    closed({
      kind: Type.Literal('goals-conflict'),
      between: Type.Array(Type.String()),
      reasons: Type.Array(Type.String()),
    }),
  ]),
});

export type AdvisedMessage = Static<typeof advised>;

/** Includes the settings of the live sessions. */
export interface AdviceAsked {
  readonly query: AdviceQuery;
  readonly live: readonly { readonly ttlMs: number; readonly graceMs: number }[];
  /**
   * Measurements of heartbeats cover all projects, so only callers with access to all projects see
   * them.
   */
  readonly isOfAll: boolean;
}
