// The parts of the advisor against values from elsewhere: tables, closed forms, and the simulations
// behind the formulas.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram } from '../../src/observe/advisor/histogram.ts';
import { fitTail, PauseLaw } from '../../src/observe/advisor/pause-law.ts';
import {
  attemptsThatFit,
  betweenMistakes,
  dalyInterval,
  longestHeartbeat,
  lossesByPauses,
  meanTimeBetweenLosses,
  shouldCheckpoint,
  takeoverMean,
  takeoverQuantile,
  uniformSumQuantile,
  wasteShare,
  youngInterval,
} from '../../src/observe/advisor/predict.ts';
import {
  estimateRate,
  gammaBelow,
  gammaQuantile,
  lnGamma,
  SPREAD_MAX,
  spreadOf,
} from '../../src/observe/advisor/rate.ts';
import { seededRandom } from '../../src/support/random.ts';

function near(actual: number, expected: number, share: number): void {
  const off = Math.abs(actual - expected);
  assert.ok(off <= share * Math.abs(expected), `${actual} is not within ${share} of ${expected}`);
}

test('lnGamma has the known values', () => {
  near(lnGamma(0.5), 0.5723649429247001, 1e-13);
  near(lnGamma(10), 12.801827480081469, 1e-13);
  near(lnGamma(0.1), 2.252712651734206, 1e-12);
  near(lnGamma(100), 359.1342053695754, 1e-13);
  assert.ok(Math.abs(lnGamma(1)) < 1e-13 && Math.abs(lnGamma(2)) < 1e-13);
});

test('the gamma distribution has the known values, on both sides of its switch', () => {
  near(gammaBelow(1, 1), 1 - Math.exp(-1), 1e-13);
  near(gammaBelow(0.5, 0.5), 0.6826894921370859, 1e-12);
  near(gammaBelow(3, 2), 0.3233235838169365, 1e-12);
  near(gammaBelow(5, 10), 0.9707473119230389, 1e-12);
  near(gammaBelow(50, 60), 0.9155933189063122, 1e-9);
  assert.equal(gammaBelow(2, 0), 0);
});

test('quantiles are those of the tables of chi-square', () => {
  near(2 * gammaQuantile(5.5, 0.05), 4.5748, 1e-4);
  near(2 * gammaQuantile(5.5, 0.95), 19.6751, 1e-4);
  near(2 * gammaQuantile(0.5, 0.95), 3.8415, 1e-4);
  near(2 * gammaQuantile(10, 0.5), 19.3374, 1e-4);
  for (const shape of [0.5, 1, 7, 300])
    near(gammaBelow(shape, gammaQuantile(shape, 0.3)), 0.3, 1e-9);
});

test('a rate is known within a factor of four from six events on', () => {
  assert.ok(spreadOf(estimateRate(0, 10)) > 100);
  assert.ok(spreadOf(estimateRate(5, 10)) > SPREAD_MAX);
  assert.ok(spreadOf(estimateRate(6, 10)) <= SPREAD_MAX);
  const many = estimateRate(4_000, 1_000);
  near(many.low, 3.896, 0.002);
  near(many.high, 4.105, 0.002);
});

test('a histogram has any quantile within one percent, also after two are added', () => {
  const random = seededRandom(1);
  const values = Array.from({ length: 20_000 }, () => -50 * Math.log(1 - random.next()));
  const halves = [new Histogram(), new Histogram()] as const;
  for (const [index, value] of values.entries()) halves[index % 2 === 0 ? 0 : 1].add(value);
  halves[0].merge(halves[1]);
  values.sort((a, b) => a - b);
  for (const share of [0.1, 0.5, 0.9, 0.99, 0.999]) {
    near(halves[0].quantile(share), values[Math.ceil(values.length * share) - 1] ?? 0, 0.011);
  }
  assert.equal(halves[0].count, 20_000);
  assert.equal(new Histogram().quantile(0.5), 0);
});

test('takeover: ttl 30 s, heartbeat 10 s, poll 2 s take 26 s at the mean and 32 s at most', () => {
  const input = { ttlMs: 30_000, periodMs: 10_000, pollMs: 2_000, delayMs: 0 };
  assert.equal(takeoverMean(input), 26_000);
  near(takeoverQuantile(input, 0.5), 26_000, 1e-12);
  near(takeoverQuantile(input, 1), 32_000, 1e-12);
  near(takeoverQuantile(input, 1e-12), 20_000, 1e-4);
  near(takeoverQuantile({ ...input, pollMs: 0 }, 0.99), 29_900, 1e-12);
});

test('the sum of two uniform times has the quantiles of a simulation', () => {
  const random = seededRandom(2);
  const drawn = Array.from({ length: 50_000 }, () => 10 * random.next() + 4 * random.next());
  drawn.sort((a, b) => a - b);
  for (const share of [0.02, 0.1, 0.5, 0.9, 0.98]) {
    near(uniformSumQuantile(10, 4, share), drawn[Math.floor(drawn.length * share)] ?? 0, 0.02);
  }
});

test('lost heartbeats: the mean time between losses equals the simulated one', () => {
  const fixed = (attempts: number) => ({
    lastsMs: attempts,
    heartbeatMs: 1,
    retryMs: 1,
    roundTripMs: 0,
    failedTripMs: 0,
  });
  near(meanTimeBetweenLosses(fixed(3), 0.2), 155, 1e-3);
  near(meanTimeBetweenLosses(fixed(4), 0.3), 174.9, 1e-3);
  assert.equal(attemptsThatFit({ ...fixed(1), lastsMs: 0.5 }), 0);
  assert.equal(meanTimeBetweenLosses(fixed(3), 0), Number.POSITIVE_INFINITY);
});

test('pauses: the tail beyond the seen pauses follows the law they came from', () => {
  const random = seededRandom(3);
  const laws = {
    exponential: { draw: () => -1_000 * Math.log(1 - random.next()), above: Math.exp(-8) },
    pareto: { draw: () => 500 * (1 - random.next()) ** (-1 / 2.5), above: (500 / 8_000) ** 2.5 },
  };
  for (const { draw, above } of Object.values(laws)) {
    const pauses = Array.from({ length: 2_000 }, draw);
    const law = new PauseLaw(pauses, 100);
    assert.equal(law.tail?.kind, 'pareto');
    const truth = (2_000 * above) / 100;
    const { mean, low, high } = law.perHour(8_000);
    assert.ok(mean / truth < 2 && truth / mean < 2, `${mean} for ${truth}`);
    assert.ok(low <= truth && truth <= high, `${truth} is not in ${low} to ${high}`);
    near(law.perHour(law.lengthAt(0.05)).mean, 0.05, 0.05);
  }
});

test('with few pauses Cantelli’s bound takes over, and holds', () => {
  const few = [100, 120, 150, 90, 400].sort((a, b) => a - b);
  const tail = fitTail(few);
  assert.equal(tail?.kind, 'cantelli');
  near(tail?.survival(1_000) ?? 0, 16_670 / (16_670 + 828 ** 2), 0.01);
  const none = new PauseLaw([], 10);
  assert.equal(none.perHour(0).mean, 0.05, 'half an event in all that time');
  assert.ok(none.perHour(10_000).mean < 0.05 / 10_000, 'and hardly one of ten seconds');
  assert.equal(
    none.perHour(10_000).high,
    estimateRate(0, 10).high,
    'but the log does not show that',
  );
});

test('equal pauses, or no pauses, do not make longer ones impossible', () => {
  for (const pauses of [[], [8_000], [8_000, 8_000, 8_000]]) {
    const law = new PauseLaw(pauses, 100);
    let last = Number.POSITIVE_INFINITY;
    for (const x of [0, 10, 100, 7_999, 8_001, 20_000, 1e6]) {
      const { mean, low, high } = law.perHour(x);
      assert.ok(mean > 0 && low <= mean && mean <= high, `${low}, ${mean}, ${high}`);
      assert.ok(mean <= last, 'longer ones are rarer');
      last = mean;
    }
    assert.equal(law.perHour(1e6).high, estimateRate(0, 100).high);
    assert.ok(law.lengthAt(0.001) < 1e9);
  }
});

test('more slack gives fewer losses by pauses', () => {
  const law = new PauseLaw(
    Array.from({ length: 100 }, (_, index) => 50 * index),
    10,
  );
  const at = (lastsMs: number) =>
    lossesByPauses(
      { lastsMs, heartbeatMs: 1_000, retryMs: 150, roundTripMs: 5, failedTripMs: 5 },
      law,
    ).mean;
  assert.ok(at(2_000) > at(3_000) && at(3_000) > at(6_000));
});

test('Chen, Toueg and Aguilera: a third of the ttl follows from the theory if the network is good', () => {
  const month = 30 * 86_400_000;
  const well = { mistakeMs: 30_000, betweenMistakesMs: month, detectionMs: 30_000 };
  near(
    longestHeartbeat({ ...well, lossProbability: 0.01, delayVarianceMs2: 54 ** 2 }),
    9_900,
    0.02,
  );
  near(
    longestHeartbeat({ ...well, lossProbability: 0.1, delayVarianceMs2: 500 ** 2 }),
    4_700,
    0.03,
  );
  const shaky = { detectionMs: 10_000, mistakeMs: 10_000, betweenMistakesMs: month };
  const found = longestHeartbeat({ ...shaky, lossProbability: 0.05, delayVarianceMs2: 1_000 ** 2 });
  near(found, 1_300, 0.05);
  const quality = { ...shaky, lossProbability: 0.05, delayVarianceMs2: 1_000 ** 2 };
  assert.ok(betweenMistakes(quality, found) >= month);
});

test('checkpoints: Young and Daly, flat around the best, and by the step', () => {
  const lossesPerMs = 1 / 3_600_000;
  near(youngInterval(2_000, lossesPerMs), 120_000, 1e-9);
  near(youngInterval(2_000, lossesPerMs, { saving: 1, rework: 4 }), 60_000, 1e-9);
  near(dalyInterval(2_000, lossesPerMs), 118_700, 0.01);
  assert.equal(
    dalyInterval(1_000, 1 / 400),
    400,
    'saving takes longer than life: save once a life',
  );
  const losses = { perMs: lossesPerMs, downMs: 0 };
  const best = wasteShare(120_000, 2_000, losses);
  near(wasteShare(240_000, 2_000, losses) / best, 1.25, 1e-9);
  near(wasteShare(60_000, 2_000, losses) / best, 1.25, 1e-9);
  assert.equal(shouldCheckpoint(119_999, 120_000), false);
  assert.equal(shouldCheckpoint(120_000, 120_000), true);
});
