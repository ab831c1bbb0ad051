import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Advice, advise, type Recommendation } from '../../src/observe/advisor/advise.ts';
import { goalsOf } from '../../src/observe/advisor/goals.ts';
import { observationsOf } from '../../src/observe/advisor/observations.ts';
import { describeReplay, replay } from '../../src/observe/advisor/predict.ts';
import { tradeOffSvg } from '../../src/observe/advisor/trade-off-svg.ts';
import { FLEET_WORLD, type Fleet, fleetLog, healthyLog, settingsFor } from './simulated-fleet.ts';
import { exponential } from './simulated-holder.ts';

const FLEET: Fleet = {
  settings: settingsFor(60_000),
  hours: 400,
  crashes: 12,
  checkpointEveryMs: 10_000,
};

function adviceFor(fleet: Fleet, preset: string, changes = {}): Advice {
  return advise(observationsOf(fleetLog(fleet)), goalsOf(preset, changes));
}

function recommended(advice: Advice): Recommendation {
  assert.ok(advice.kind === 'recommendation', JSON.stringify(advice, undefined, 2));
  return advice;
}

test('a ttl that is far too long for people who wait is shortened, within every limit', (context) => {
  const advice = recommended(adviceFor(FLEET, 'interactive'));
  context.diagnostic(advice.reasons.join('\n'));
  assert.equal(advice.verdict, 'change');
  assert.ok(advice.ttlMs < 15_000, `ttl ${advice.ttlMs}`);
  assert.ok(advice.predicted.takeoverP99Ms <= 15_000);
  assert.ok(advice.predicted.falseLossesPer1000LeaseDays.mean <= 500);
  assert.ok(advice.predicted.takeoverP50Ms < advice.current.predicted.takeoverP50Ms);
  assert.equal(advice.heartbeatMs, Math.round(advice.ttlMs / 3));
  assert.ok(advice.graceMs > 0 && advice.graceMs <= advice.ttlMs / 2);
  assert.ok(advice.checkpointMs !== undefined && advice.checkpointMs > 1_000);
  assert.ok(advice.gainShare > 0.1);
  assert.equal(advice.confidence, 'high', 'thousands of pauses and a dozen crashes were seen');
});

test('the cheapest ttl within every limit is chosen, and the binding limit is the one that excludes cheaper ones', () => {
  const advice = recommended(
    adviceFor(FLEET, 'interactive', { longestEffectMs: 12_000, takeoverP99MsMax: 60_000 }),
  );
  const allowed = advice.candidates.filter(({ broken }) => broken.length === 0);
  const best = Math.min(...allowed.map(({ cost }) => cost));
  const chosen = allowed.find(({ settings }) => settings.ttlMs === advice.ttlMs);
  assert.equal(chosen?.cost, best);
  assert.equal(advice.binding, 'longest-effect');
  assert.match(advice.reasons.join(' '), /One limit decides: the longest effect must fit/);
});

test('the money preset gets a longer ttl than the interactive one, since losses cost more', () => {
  const [money, interactive] = ['money', 'interactive'].map((preset) =>
    recommended(adviceFor(FLEET, preset)),
  );
  assert.ok((money?.ttlMs ?? 0) > (interactive?.ttlMs ?? 0));
});

test('hysteresis: settings that match the advice are kept', () => {
  const first = recommended(adviceFor(FLEET, 'interactive'));
  const settings = { ...settingsFor(first.ttlMs), graceMs: first.graceMs };
  const checkpointEveryMs = first.checkpointMs ?? 0;
  const again = recommended(adviceFor({ ...FLEET, settings, checkpointEveryMs }, 'interactive'));
  assert.equal(again.verdict, 'keep');
  assert.equal(again.ttlMs, first.ttlMs);
  assert.match(again.reasons[0] ?? '', /^Keep the current settings/);
});

test('a short log is not enough evidence, and the advice has the hours to record', () => {
  const advice = adviceFor({ ...FLEET, hours: 1 }, 'batch');
  assert.ok(advice.kind === 'not-enough-evidence');
  const [renewals] = advice.missing;
  assert.equal(renewals?.what, 'renewals');
  assert.ok((renewals?.recordHours ?? 0) > 1 && (renewals?.recordHours ?? 0) < 10);
});

test('without a single crash there is no advice, and crashes are missing', () => {
  const advice = adviceFor({ ...FLEET, hours: 100, crashes: 0 }, 'interactive');
  assert.ok(advice.kind === 'not-enough-evidence', JSON.stringify(advice.kind));
  assert.deepEqual(
    advice.missing.map(({ what }) => what),
    ['crashes'],
  );
  assert.match(advice.missing[0]?.have ?? '', /^0 crashes in/);
});

test('without any log the settings and renewals are missing', () => {
  const advice = advise(observationsOf([]), goalsOf('batch'));
  assert.ok(advice.kind === 'not-enough-evidence');
  assert.deepEqual(
    advice.missing.map(({ what }) => what),
    ['settings', 'renewals'],
  );
});

test('conflicting goals are named, with the ttl that each of them needs', () => {
  const world = { ...FLEET_WORLD, pauseMs: exponential(4_000) };
  const advice = adviceFor({ ...FLEET, world }, 'interactive', { takeoverP99MsMax: 5_000 });
  assert.ok(advice.kind === 'goals-conflict', advice.kind);
  assert.ok(advice.between.includes('takeover'));
  assert.match(advice.reasons.join(' '), /needs a ttl of at most .* need a ttl of at least/);
});

for (const preset of ['batch', 'interactive', 'money'] as const) {
  for (const seen of [[], [8_000], [8_000, 8_000, 8_000], [8_000, 8_100]]) {
    test(`${preset}: after ${seen.length} pauses in 30 hours pauses are missing, not blamed`, () => {
      const advice = advise(observationsOf(healthyLog(30, seen)), goalsOf(preset));
      assert.ok(advice.kind === 'not-enough-evidence', advice.kind);
      const pauses = advice.missing.find(({ what }) => what === 'pauses');
      assert.match(pauses?.have ?? '', new RegExp(`^${seen.length} pauses in 30`));
      assert.ok((pauses?.recordHours ?? 0) > 10, `${pauses?.recordHours} hours more`);
    });
  }
}

test('without a pause in a long log there is advice, with its uncertainty', () => {
  const advice = recommended(advise(observationsOf(healthyLog(600, [])), goalsOf('batch')));
  assert.equal(advice.confidence, 'medium');
  const { mean, high } = advice.predicted.falseLossesPer1000LeaseDays;
  assert.ok(mean < 1 && high > 10 && high <= 100, `${mean}, at most ${high}`);
  assert.match(
    advice.reasons.join(' '),
    /The model for longer ones is unknown, because there were none/,
  );
});

test('a log whose times stand still is not enough evidence', () => {
  const still = healthyLog(30, []).map((entry) =>
    entry.kind === 'report' ? { ...entry, report: { ...entry.report, at: 1 } } : entry,
  );
  const advice = advise(observationsOf(still), goalsOf('batch'));
  assert.ok(advice.kind === 'not-enough-evidence', advice.kind);
  assert.match(advice.missing[0]?.have ?? '', /in no time/);
});

test('impossible goals are refused by name, before the search', () => {
  const { prices } = goalsOf('batch');
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ ttlMsMin: 0 }, /ttlMsMin must be a number, at least 10/],
    [{ ttlMsMin: 700_000 }, /ttlMsMax must be a number, at least 700000/],
    [{ takeoverP99MsMax: Number.NaN }, /takeoverP99MsMax must be a number, greater than 0/],
    [{ takeoverP99MsMax: Number.POSITIVE_INFINITY }, /takeoverP99MsMax must be a number/],
    [{ falseLossesPer1000LeaseDaysMax: 0 }, /falseLossesPer1000LeaseDaysMax must be/],
    [{ longestEffectMs: -5 }, /longestEffectMs must be a number, at least 0/],
    [{ beatsPerTtl: [] }, /beatsPerTtl must be a list of at least one/],
    [{ beatsPerTtl: [0] }, /beatsPerTtl must be a number, greater than 1/],
    [{ beatsPerTtl: [3, 0.5] }, /beatsPerTtl must be a number, greater than 1/],
    [{ prices: { storeWrite: 0.001 } }, /prices.downSecond must be a number/],
    [{ prices: { ...prices, storeWrite: 0 } }, /prices.storeWrite must be a number, greater/],
    [{ prices: { ...prices, falseLos: 1 } }, /Did you mean "falseLoss"\?/],
  ];
  const observations = observationsOf([]);
  for (const [changes, problem] of wrong) {
    assert.throws(() => goalsOf('batch', changes), problem);
    const goals = { ...goalsOf('batch'), ...changes };
    assert.throws(() => advise(observations, goals), problem);
  }
});

test('a misspelt preset or goal is named', () => {
  assert.throws(() => goalsOf('bacth'), /no preset "bacth". Did you mean "batch"\?/);
  assert.throws(() => goalsOf('batch', { pollMS: 1 } as object), /Did you mean "pollMs"\?/);
});

test('replay: the same settings give the recorded losses, a longer ttl gives fewer', () => {
  const world = { ...FLEET_WORLD, pauseMs: exponential(3_000) };
  const settings = settingsFor(10_000);
  const observations = observationsOf(fleetLog({ ...FLEET, world, settings }));
  const same = replay(observations, settings);
  assert.ok(same.recorded.losses > 50, `${same.recorded.losses} losses`);
  assert.ok(Math.abs(same.replayed.losses - same.recorded.losses) <= 0.05 * same.recorded.losses);
  const longer = replay(observations, settingsFor(20_000));
  assert.ok(longer.replayed.losses < same.recorded.losses / 3);
  assert.equal(Math.round(longer.takeoverLaterMs), 8_333);
  assert.match(
    describeReplay(longer),
    /\d+ fewer false losses .* and 8\.3 s more time to take over/,
  );
  const one = { ...longer, recorded: { lapses: 0, losses: 4 }, replayed: { lapses: 0, losses: 5 } };
  assert.match(describeReplay(one), /1 more false loss \(5 instead of 4\)/);
});

test('the trade-off is one self-contained picture with both points in it', () => {
  const svg = tradeOffSvg(recommended(adviceFor(FLEET, 'interactive')));
  assert.match(svg, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" viewBox/);
  assert.match(svg, /now: ttl 60 s/);
  assert.match(svg, /advised: ttl /);
  assert.doesNotMatch(svg, /NaN|Infinity|undefined|<script|href/);
  const opened = svg.match(/<(?:svg|text|path|line|circle|rect)\b/g)?.length ?? 0;
  const closed = svg.match(/\/>|<\/(?:svg|text)>/g)?.length ?? 0;
  assert.equal(opened, closed);
});
