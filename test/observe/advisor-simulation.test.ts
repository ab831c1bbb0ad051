// The advisor's predictions against a simulation without its formulas: record a fleet under one
// setting, predict another, and simulate that one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LeaseSettings, modelOf } from '../../src/observe/advisor/model.ts';
import { observationsOf } from '../../src/observe/advisor/observations.ts';
import { predict, replay } from '../../src/observe/advisor/predict.ts';
import { seededRandom } from '../../src/support/random.ts';
import { sample } from '../services/tier.ts';
import { exponential, heavyTailed, SimulatedHolder, type World } from './simulated-holder.ts';

function settings(ttlMs: number, beats: number = 3): LeaseSettings {
  return { ttlMs, heartbeatMs: ttlMs / beats, graceMs: ttlMs / 5, guardMs: ttlMs / 100 };
}

const CALM = { failure: 0.01, medianLatencyMs: 8, driftPpm: 500 };

/** Each world is recorded under the first setting, and the others are predicted from it. */
const WORLDS: Readonly<
  Record<string, { world: Omit<World, 'random'>; trials: LeaseSettings[]; hours?: Hours }>
> = {
  'frequent short pauses': {
    world: { ...CALM, pausesPerHour: 30, pauseMs: exponential(1_500) },
    trials: [settings(15_000), settings(10_000), settings(12_000, 5), settings(8_000)],
  },
  'rare long pauses': {
    world: { ...CALM, pausesPerHour: 3, pauseMs: exponential(12_000) },
    trials: [settings(30_000), settings(20_000), settings(45_000), settings(60_000, 4)],
  },
  'a heavy tail': {
    world: { ...CALM, pausesPerHour: 60, pauseMs: heavyTailed(300, 1.6) },
    trials: [settings(15_000), settings(10_000), settings(30_000), settings(60_000)],
  },
  'a network that loses half of the messages': {
    world: {
      failure: 0.5,
      medianLatencyMs: 30,
      driftPpm: 500,
      pausesPerHour: 0.001,
      pauseMs: () => 30,
    },
    trials: [settings(5_000), settings(4_000), settings(8_000), settings(6_000, 4)],
    hours: { recorded: 20, lived: 400 },
  },
};

interface Hours {
  readonly recorded: number;
  readonly lived: number;
}

/** A day of twenty leases: enough to see rare events. */
const HOURS: Hours = { recorded: 500, lived: 1_500 };

const sampled = sample('worlds of the advisor', Object.entries(WORLDS), 1);

for (const [name, { world, trials, hours = HOURS }] of sampled) {
  test(`false losses are predicted within a factor of 2: ${name}`, (context) => {
    const [recorded] = trials;
    assert.ok(recorded !== undefined);
    const log = new SimulatedHolder({ ...world, random: seededRandom(11) }, recorded, true);
    const model = modelOf(observationsOf(log.live(hours.recorded).log));
    for (const [index, trial] of trials.entries()) {
      const random = seededRandom(100 + index);
      const lived = new SimulatedHolder({ ...world, random }, trial, false).live(hours.lived);
      const predicted = predict(model, trial).falseLossesPer1000LeaseDays.mean / 24_000;
      const seen = lived.losses / lived.hours;
      const lapses = predict(model, trial).falseLapsesPer1000LeaseDays.mean / 24_000;
      context.diagnostic(
        `ttl ${trial.ttlMs}, heartbeat ${Math.round(trial.heartbeatMs)}: ` +
          `losses per hour ${predicted.toPrecision(3)} predicted, ${seen.toPrecision(3)} seen (${lived.losses}); ` +
          `lapses ${lapses.toPrecision(3)} predicted, ${(lived.lapses / lived.hours).toPrecision(3)} seen`,
      );
      assert.ok(lived.losses >= 15, `too few losses (${lived.losses}) to compare with`);
      assert.ok(predicted / seen < 2 && seen / predicted < 2, `${predicted} for ${seen}`);
    }
  });
}

test('a replay of one recorded run has the losses of another run under those settings', (context) => {
  const world = { ...CALM, pausesPerHour: 30, pauseMs: exponential(3_000) };
  const holder = new SimulatedHolder(
    { ...world, random: seededRandom(21) },
    settings(15_000),
    true,
  );
  const observations = observationsOf(holder.live(400).log);
  for (const ttlMs of [8_000, 10_000, 15_000, 20_000]) {
    const { replayed } = replay(observations, settings(ttlMs));
    const other = { ...world, random: seededRandom(77) };
    const lived = new SimulatedHolder(other, settings(ttlMs), false).live(400);
    context.diagnostic(
      `ttl ${ttlMs}: ${Math.round(replayed.losses)} replayed, ${lived.losses} lived`,
    );
    const ratio = replayed.losses / lived.losses;
    assert.ok(ratio > 0.7 && ratio < 1.4, `${replayed.losses} replayed, ${lived.losses} lived`);
  }
});

test('takeover p50 is predicted within 10 % and p99 as well', (context) => {
  const world: World = {
    ...CALM,
    random: seededRandom(5),
    pausesPerHour: 10,
    pauseMs: exponential(200),
  };
  const trials = [settings(15_000), settings(5_000), settings(30_000, 6), settings(600)];
  for (const trial of trials) {
    const model = modelOf(observationsOf(new SimulatedHolder(world, trial, true).live(5).log));
    const delayMs = 12;
    const holder = new SimulatedHolder(world, trial, false);
    const deaths = Array.from({ length: 4_000 }, () => holder.die(delayMs)).sort((a, b) => a - b);
    const predicted = predict({ ...model, takeoverDelayMs: delayMs }, trial);
    for (const [share, ms] of [
      [0.5, predicted.takeoverP50Ms],
      [0.99, predicted.takeoverP99Ms],
    ] as const) {
      const seen = deaths[Math.floor(deaths.length * share)] ?? 0;
      context.diagnostic(
        `ttl ${trial.ttlMs}, heartbeat ${trial.heartbeatMs}: p${share * 100} ${Math.round(ms)} ms predicted, ${Math.round(seen)} seen`,
      );
      assert.ok(Math.abs(ms - seen) <= 0.1 * seen, `p${share * 100}: ${ms} for ${seen}`);
    }
  }
});
